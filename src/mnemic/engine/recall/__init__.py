"""Recall: a question is answered from all that its scope may see."""
