"""Jobs: run, tried again, scheduled, and done by a worker."""
