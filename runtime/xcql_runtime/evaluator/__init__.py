"""The reference evaluator in Spark's workers: answers queries (CaQ), and parts of native plans."""
