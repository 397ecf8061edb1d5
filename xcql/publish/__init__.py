"""Broadcasting: the server of the papers, which plays fragments and does not know its clients.

| module | what it does |
| --- | --- |
| `cut` | cuts a file into self-contained fragments, each on one line |
| `addresses` | reads `tcp://host:port`, `dir:FOLDER`, `kafka://broker/topic` |
| `play` | the order and pace in which fragments are sent |
| `tcp`, `folder` | send them to connected clients, or to files in a folder |

Tests: tests/cli/test_publish.py
"""
