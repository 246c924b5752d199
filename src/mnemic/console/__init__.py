"""The web console: a page in a browser over the REST door, as one more door of `mnemic serve`."""
