"""Pure ranking: scores, fusion, diversity and decay, without I/O, clock or randomness."""
