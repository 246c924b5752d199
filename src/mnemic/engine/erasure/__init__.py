"""Deletion and erasure: what goes, what goes with it, and what is made anew of the rest."""
