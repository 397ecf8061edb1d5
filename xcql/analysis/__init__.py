"""Static analysis: which tags of which stream the value of an expression can have.

`xcql.check` is the way in: `Checked` holds the names and the tag types of a query.

| module | holds |
| --- | --- |
| `types` | the tag type of an expression |
| `graph` | a Tag Structure as a graph: what can stand below and above a tag |
| `names` | the names of a query: namespaces, functions, streams; how it can name a tag |
| `functions` | what the standard functions do with the nodes they are given |
| `walker` | the walk over a query; what streams and time become is given by rules |
| `walk_*` | how each kind of expression is walked; `walk_paths` holds the paper's Figure 3 |
| `walk_module` | the walk over a whole query |
| `typing` | `tag_types`: the tag type of every expression of a query |
"""
