"""The reference evaluator: the meaning of every query, in Python."""
