"""From the bytes of fillers to columns: the store's table layout, free of Spark."""
