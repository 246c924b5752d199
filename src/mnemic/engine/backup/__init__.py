"""Backups of a whole store, and what is done when one is put back."""
