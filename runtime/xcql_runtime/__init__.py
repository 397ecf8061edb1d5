"""XCQL on Spark: the session, the fragment store, and the plans that run over it."""
