"""From what a user says to facts, by rules: statements, third person, dates, kinds, and which of them matter."""
