"""Protocols that the engine calls and adapters implement."""
