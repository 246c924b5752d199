"""Protocols: what the engine asks of the world outside."""
