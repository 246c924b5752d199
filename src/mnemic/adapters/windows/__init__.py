"""Windows: the last messages of a session."""
