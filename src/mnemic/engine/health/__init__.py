"""Health: what is wrong with what is remembered, and what ends it."""
