"""Small algorithms on rows of bits, whose examples are drawn: copying, recalling, sorting, counting (Graves 2014)."""
