"""Rerankers: late interaction, cross-encoders, language models."""
