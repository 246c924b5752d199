"""Readers of files: text, code, PDF, office documents, web pages, e-books, notebooks, mail."""
