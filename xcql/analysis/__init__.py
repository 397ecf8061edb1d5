"""Static analysis: which tags of which stream the value of an expression can have.

| module | holds |
| --- | --- |
| `types` | the tag type of an expression |
| `graph` | a Tag Structure as a graph: what can stand below and above a tag |
| `names` | the namespaces of a query: what a name test means, how a tag is named |
| `steps` | how an axis step leads from tags to tags |
| `functions` | what the standard functions do with the nodes they are given |
| `walker` | the walk over a query: scopes, variables, uses; what streams and steps become is given |
| `typing` | `tag_types`: the tag type of every expression of a query |
"""
