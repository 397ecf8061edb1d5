"""The fragment store: one Parquet table per tag, and numbered commits that make changes atomic."""
