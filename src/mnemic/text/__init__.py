"""Pure functions over text: analysing, normalising, cutting, sanitising."""
