"""Context: what is put in front of the model, within a budget."""
