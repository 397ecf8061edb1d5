"""Plans as Spark SQL text: `lowering` makes the query, `dialect` knows what is peculiar to Spark."""
