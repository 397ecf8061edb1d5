"""The benchmarks: `make bench` runs them all, `python -m bench xmark` one of them.

Figures are `Row`s (`bench.rows`). Machines differ and are noisy: goals are judged by a reader
of the report, never by a test.
"""
