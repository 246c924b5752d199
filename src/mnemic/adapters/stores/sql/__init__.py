"""What the SQL stores share: every port and statement once. `dialect` adapts the statements of `queries/`; each store's
session (`session`) runs them.
"""
