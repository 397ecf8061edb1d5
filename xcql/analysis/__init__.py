"""Static analysis: the stream tags that the value of an expression can have.

`xcql.check` is the entry point: `Checked` holds the names and the tag types of a query.

| module | holds |
| --- | --- |
| `types` | the tag type of an expression |
| `graph` | a tag structure as a graph: which tags can be below and above a tag |
| `names` | the names of a query: namespaces, functions, streams; how it can name a tag |
| `functions` | what the standard functions do with their node arguments |
| `walker` | the walk over a query; rules decide what streams and time become |
| `walk_*` | how each kind of expression is walked; `walk_paths` holds the paper's Figure 3 |
| `walk_module` | the walk over a whole query |
| `typing` | `tag_types`: the tag type of every expression of a query |

Tests: tests/analysis, tests/translate/test_rules.py
"""
