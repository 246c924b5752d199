"""The graph: entities and relations, found in items and walked."""
