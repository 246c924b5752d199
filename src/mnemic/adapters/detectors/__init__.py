"""Detectors of secrets."""
