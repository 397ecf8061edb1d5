"""The command line, `xcqlc`: one module per verb, argument parsing and display only.

Tests: tests/cli
"""
