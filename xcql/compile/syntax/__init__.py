"""The constructs of the language, one module each: from an expression to the compiler's values."""
