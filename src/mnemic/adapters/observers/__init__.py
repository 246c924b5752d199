"""Observers record counts and durations."""
