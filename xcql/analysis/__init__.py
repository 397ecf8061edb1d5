"""Static analysis: which tags of which stream the value of an expression can have.

| module | holds |
| --- | --- |
| `types` | the tag type of an expression |
| `graph` | a Tag Structure as a graph: what can stand below and above a tag |
| `names` | the namespaces of a query: what a name test means, how a tag is named |
| `functions` | what the standard functions do with the nodes they are given |
| `walker` | the walk over a query; what streams and time become is given by rules |
| `walk_*` | how each kind of expression is walked; `walk_paths` holds the paper's Figure 3 |
| `typing` | `tag_types`: the tag type of every expression of a query |
"""
