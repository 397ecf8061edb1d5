"""The native forms of functions, by topic; each is declared with `xcql.compile.calls.function`."""
