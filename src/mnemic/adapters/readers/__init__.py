"""File readers: text, code, PDF, office documents, web pages, e-books, notebooks, mail."""
