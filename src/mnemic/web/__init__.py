"""Shared by the HTTP doors: keys and rights, scopes, limits, problems, health, metrics and audit. Needs the extra
`server`. Importing this package alone does not.
"""
