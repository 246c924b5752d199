"""Second judges of what was found: late interaction, cross-encoders."""
