"""Where fragments come from: a module for each kind of source, and the table of all of them.

A source is a class that implements the protocol `source.StreamSource`; it becomes usable, also on
the command line, with its entry in `table.SOURCES`.

| module | holds |
| --- | --- |
| `source` | the protocol, and the columns of a source's rows |
| `table` | all sources; the rows of those that a query reads |
| `tcp_source`, `receiver`, `spool` | lines received by TCP, kept until Spark is done with them |
| `folder_source`, `kafka_source` | files that are dropped into a folder, messages of a topic |
| `frame_source` | any streaming DataFrame |
"""
