"""The fragment store: Parquet tables by tag, made whole by numbered commits."""
