"""The verbs of Mnemic over HTTP: `mnemic.connect(url, key)` gives them, for asyncio too."""

from mnemic.remote.client import RemoteMnemic, connect, connect_async

__all__ = ["RemoteMnemic", "connect", "connect_async"]
