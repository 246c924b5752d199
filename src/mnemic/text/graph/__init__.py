"""Entities and relations in texts: by rules, and as a language model is asked for them."""
