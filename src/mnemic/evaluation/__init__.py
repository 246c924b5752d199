"""How good and how fast a memory is, measured through the public verbs."""
