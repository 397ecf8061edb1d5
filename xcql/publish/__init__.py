"""Broadcasting: the server of the papers, which plays fragments and knows nothing of its clients.

| module | does |
| --- | --- |
| `cut` | cuts a file into fragments that stand by themselves, each on one line |
| `addresses` | reads `tcp://host:port`, `dir:FOLDER`, `kafka://broker/topic` |
| `play` | the order and pace in which fragments go out |
| `tcp`, `folder` | send them to whoever listens, or into files of a folder |
"""
