"""Clocks: where the time comes from."""
