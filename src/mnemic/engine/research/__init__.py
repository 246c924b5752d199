"""Research: a question is answered from one huge document, piece by piece."""
