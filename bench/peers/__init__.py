"""Other engines that answer the same queries over the plain document, with one interface.

>>> for peer in peers(): print(peer.name, peer.unavailable() or "is here")      # doctest: +SKIP
SaxonC-HE is here
BaseX is here
RumbleDB is left out: 'make bench-peers' installs it
"""

from __future__ import annotations

from bench.peers.basex import BaseX
from bench.peers.peer import Peer
from bench.peers.rumble import Rumble
from bench.peers.saxon import Saxon


def peers() -> tuple[Peer, ...]:
    """All of them, installed or not; the first that has an answer is the reference for others."""
    return Saxon(), BaseX(), Rumble()
