"""The parts that rules are built from: facts about the store, and shared operations on plans.

Tests: tests/algebra/rules
"""
