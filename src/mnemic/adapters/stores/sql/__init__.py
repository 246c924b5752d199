"""What the stores over SQL have in common: every port once, and its statements, each of which is written once too.

`dialect` says how a statement of `queries/` becomes one of SQLite or PostgreSQL; a session (`session`) of each store
runs it.
"""
