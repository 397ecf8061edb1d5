"""Sources of fragments: one module per kind, and a table of all of them.

A source is a class that implements the protocol `source.StreamSource`. Once it is listed in
`table.SOURCES`, it can be used, also on the command line. A TCP broadcast is sent only once, so
`receiver` puts it into a `spool` until Spark has processed it.

Tests: tests/runtime/streaming
"""
