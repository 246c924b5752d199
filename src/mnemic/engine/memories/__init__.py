"""Single memories: kept, changed, judged, archived, and carried into the profile."""
