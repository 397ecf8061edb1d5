"""The command line, `xcqlc`: one module a verb, argument parsing and display only."""
