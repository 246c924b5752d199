"""Indexes find candidates."""
