"""The nouns: frozen dataclasses without behaviour beyond their own rules."""
