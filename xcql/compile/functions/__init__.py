"""The native forms of functions, by topic."""
