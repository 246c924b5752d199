"""The nouns: frozen dataclasses that only check and derive from their own fields."""
