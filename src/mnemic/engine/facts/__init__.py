"""Facts: found in what was said, compared with what is known, and written."""
