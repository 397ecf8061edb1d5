"""The function library of XQuery 3.1, one module a topic; see `xcql.evaluate.registry`."""
