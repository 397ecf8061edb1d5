"""The benchmarks: `make bench` runs them all, `python -m bench xmark` one of them.

Figures are `Row`s (`bench.rows`). Machines differ and are noisy: a reader of the
report judges the goals, never a test.
"""
