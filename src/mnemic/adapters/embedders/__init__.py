"""Embedders: how text becomes vectors."""
