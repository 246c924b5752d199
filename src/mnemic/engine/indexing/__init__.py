"""What is searched: texts of items, their vectors in every space, and an index that is up to date."""
