"""Use cases, one per file, in packages by what they are about; beside them what several packages share."""
