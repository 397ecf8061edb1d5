"""The logical algebra between a query and SQL: plans of tuples, and scalars over their columns.

| operator | in paper 2 | makes |
| --- | --- | --- |
| `Extract` | extract | the fillers of some tags, once for each place in the view |
| `Versions` | | the versions of the fillers of some tags, without their places |
| `Follow`, `Rise` | | from a filler along its holes to the fillers in them, and back |
| `Select`, `Project` | select, project | fewer tuples, more columns |
| `Unnest` | unnest | a tuple for each element of an array |
| `Join`, `Merge` | join, merge | combined tuples, concatenated sequences |
| `Nest`, `Reduce` | nest, reduce | a tuple for each group, a value for a whole plan |
| `Number`, `Order`, `Distinct` | | positions, order, node identity |

A plan starts from the tuple that it is evaluated for, the `Unit`. A scalar may contain a whole
plan, as `Nested`: that is how queries nest. The rules in `xcql.algebra.rules` remove such plans.

Tests: tests/algebra/rules, tests/compile/test_corpus.py
"""
