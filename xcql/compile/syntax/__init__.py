"""The constructs of the language, one module each: from an expression to a value."""
