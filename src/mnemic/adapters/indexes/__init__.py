"""Indexes: how candidates are found."""
