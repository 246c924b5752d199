"""Stores: where rows are kept."""
