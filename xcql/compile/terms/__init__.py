"""The compiler's values: items, sequences of items, and the scope in which they are made."""
