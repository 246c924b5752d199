"""Exports, and imports of what Mnemic or another program has written."""
