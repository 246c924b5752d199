"""Use cases, mostly one per module. They call ports and know no door."""
