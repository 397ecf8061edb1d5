"""Imports histories from where people have them: dated documents, git.

A source (`revisions`) lists what changed at each time; the importer turns the changes into
fragments and commits them to a store, with what the next import needs to continue.

Tests: tests/importing/test_importer.py
"""
