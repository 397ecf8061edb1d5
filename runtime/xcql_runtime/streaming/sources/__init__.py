"""Where fragments come from: a module for each kind of source, and a table of all of them.

A source is a class that implements the protocol `source.StreamSource`, and is used, also on the
command line, as soon as `table.SOURCES` lists it. What comes by TCP is heard once: `receiver` puts
it into a `spool`, until Spark is done with it.
"""
