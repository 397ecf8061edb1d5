"""What the compiler's values are: items, sequences of them, and the scope that they are made in."""
