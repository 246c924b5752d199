"""Measures quality and speed on the user's own data."""
