"""Measures the quality and speed of a memory through the public verbs."""
