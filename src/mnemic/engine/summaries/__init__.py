"""Summaries of what has fallen out of a window, and reflections on summaries."""
