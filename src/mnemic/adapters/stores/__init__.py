"""Stores keep rows."""
