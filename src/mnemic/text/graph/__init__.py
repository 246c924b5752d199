"""Finds entities and relations in texts: by rules, or by prompting a language model."""
