"""What the doors over HTTP share: keys and rights, the scope of a request, limits, problems, health, metrics, audit.

It needs the extra `server`; importing this package alone does not.
"""
