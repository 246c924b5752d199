"""Configuration keys and where their values come from: argument, environment, file, default, in this order."""

from mnemic.config.resolution import Effective, Value, load_config, resolve
from mnemic.config.values import MEMORY_URL, BackendSettings, Config, default_store

__all__ = ["MEMORY_URL", "BackendSettings", "Config", "Effective", "Value", "default_store", "load_config", "resolve"]
