"""XCQL to standard XQuery over fragments: the paper's CaQ, QaC and QaC+.

| module | holds |
| --- | --- |
| `api` | `translate`: a query and Tag Structures in, XQuery out |
| `rules` | what streams, steps across holes, projections and time become |
| `emission` | the calls of the library, as syntax nodes |
| `standalone` | one module that runs by itself: library inlined, fragments read by `doc()` |
| `cleaning` | fragments files that another XQuery processor can read |

The rules for paths (Figure 3) are in `xcql.analysis.walk_paths`: they are the same for all three.
"""

from xcql.translate.api import Translation, translate

__all__ = ["Translation", "translate"]
