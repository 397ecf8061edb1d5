"""Time: from received fragments to versions, lifespans and the temporal view.

| module | what it owns |
| --- | --- |
| `definition` | the definition: the versions of each filler, from fragments in order of arrival |
| `predicates` | when rows count, versions are valid, intervals overlap; Allen's relations |
| `lifespan` | the lifespan of a node |
| `view`, `stream` | the temporal view of a stream, and the document at an instant |
| `bitemporal` | the rows of a store: the versions of one id for every `now` |
| `arrivals`, `vectorised`, `places` | the same for all ids of a stream at once, as columns |
| `stability` | the `now` from which the rows of a table no longer change |
| `latest`, `changes` | what a new state of a document adds to the history of the previous one |

Every other implementation (the columns here, `runtime/xquery/xcql.xqm`, the plans of
`xcql/compile` and their SQL in `xcql/sql`) follows `definition` and `predicates` and is tested
against them.

Tests: tests/history
"""
