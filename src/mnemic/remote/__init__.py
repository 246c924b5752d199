"""Mnemic's verbs over HTTP: `mnemic.connect(url, key)`, and `connect_async` for asyncio."""

from mnemic.remote.client import RemoteMnemic, connect, connect_async

__all__ = ["RemoteMnemic", "connect", "connect_async"]
