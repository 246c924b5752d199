"""Shared code of the SQL stores: every port and statement once. `dialect` adapts the statements of `queries/`; each
store's session (`session`) runs them.
"""
