"""Frozen data classes. Their methods only validate their own fields and derive values from them."""
