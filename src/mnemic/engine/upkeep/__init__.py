"""Upkeep: importance fades, what has faded makes room, and what deletions leave behind is removed."""
