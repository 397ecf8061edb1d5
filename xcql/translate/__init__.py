"""XCQL to standard XQuery over fragments: the paper's CaQ, QaC and QaC+.

| module | holds |
| --- | --- |
| `api` | `translate`: from a query and Tag Structures to XQuery |
| `rules` | what streams, steps across holes, projections and time become |
| `reconstruction` | functions that fill holes, generated from the Tag Structure |
| `uncopied` | paths and loops that need no copies of fillers |
| `emission` | calls of the library, as syntax nodes |
| `standalone` | a self-contained module: library inlined, fragments read by `doc()` |
| `library` | where `xcql.xqm` is |
| `cleaning` | fragment files that another XQuery processor can read |

The rules for paths (Figure 3) are in `xcql.analysis.walk_paths`: they are the same for all three.

Tests: tests/translate
"""

from __future__ import annotations

from xcql.callable_package import make_callable
from xcql.translate.api import Translation, translate

__all__ = ["Translation", "translate"]


make_callable(__name__, "translate")
