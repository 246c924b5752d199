"""Documents: files are taken in, looked at and removed."""
