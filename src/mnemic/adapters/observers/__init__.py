"""Observers: where counts and durations go."""
