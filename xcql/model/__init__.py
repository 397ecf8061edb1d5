"""The hole-filler model: tag structures, fragments, time, and the temporal view.

Tests: tests/model
"""
