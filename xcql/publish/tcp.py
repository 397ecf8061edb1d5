"""Broadcasting over TCP: a client gets what is sent after it connects, one fragment per line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from xcql.diagnostics import error
from xcql.publish.addresses import TcpAddress
from xcql.publish.cut import one_line
from xcql.publish.play import Pace, groups_of

# a client that is this many bytes behind is dropped
BUFFER = 1 << 24
# a client that reads nothing for this many seconds is gone
PATIENCE = 30.0


class _Client(asyncio.Protocol):
    """One client: what it has not read yet waits in its transport's buffer."""

    def __init__(self, clients: set[_Client], changed: asyncio.Event) -> None:
        self._clients = clients
        self._changed = changed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.name = "{}:{}".format(*transport.get_extra_info("peername")[:2])
        # asyncio should call `resume_writing` when everything is sent
        transport.set_write_buffer_limits(high=BUFFER // 4, low=0)
        self._clients.add(self)
        self._changed.set()

    def connection_lost(self, exception: Exception | None) -> None:
        self._clients.discard(self)
        self._changed.set()

    def resume_writing(self) -> None:
        self._changed.set()

    @property
    def behind(self) -> int:
        return self.transport.get_write_buffer_size()


async def broadcast(
    address: TcpAddress,
    fragments: Iterator[bytes],
    pace: Pace,
    wait_for: int,
    tell: Callable[[str], None],
) -> int:
    """Send fragments to all clients, once `wait_for` are connected; return how many were sent.

    With a pace, time alone decides when a fragment is sent. Without one, the fastest client
    decides. In both cases, a client that falls too far behind is dropped.
    """
    clients: set[_Client] = set()
    changed = asyncio.Event()
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(
            lambda: _Client(clients, changed), address.host, address.port
        )
    except OSError as problem:
        raise error(
            "XCQL0721",
            f"cannot listen on '{address}': {(problem.strerror or str(problem)).lower()}",
            hints=["another server may be using it: give another port, or 0 for any free one"],
        ) from None
    async with server:
        port = server.sockets[0].getsockname()[1]
        tell(f"listening on {TcpAddress(address.host, port)}")
        while len(clients) < wait_for:
            changed.clear()
            await changed.wait()
        sent = 0
        for pause, group in groups_of(fragments, pace, loop.time):
            await asyncio.sleep(pause)
            sent += len(group)
            for data in _portions(group):
                for client in list(clients):
                    if client.behind > BUFFER:
                        clients.discard(client)
                        _drop(client, tell)
                    else:
                        client.transport.write(data)
                await asyncio.sleep(0)  # new and closed connections are noticed only here
                if pace.is_free and clients:
                    await _until(changed, lambda: any(one.behind < BUFFER // 2 for one in clients))
        if not await _until(changed, lambda: all(one.behind == 0 for one in clients)):
            for client in list(clients):
                _drop(client, tell)
        for client in list(clients):
            client.transport.close()
        while clients:
            changed.clear()
            await changed.wait()
    return sent


def _portions(group: Sequence[bytes]) -> Iterator[bytes]:
    """The lines of a group, in chunks that are much smaller than a buffer."""
    lines: list[bytes] = []
    size = 0
    for fragment in group:
        lines.append(one_line(fragment) + b"\n")
        size += len(lines[-1])
        if size > BUFFER // 8:
            yield b"".join(lines)
            lines, size = [], 0
    yield b"".join(lines)


async def _until(changed: asyncio.Event, is_so: Callable[[], bool]) -> bool:
    """Wait until a condition on the clients holds, up to a limit; return whether it does."""
    while not is_so():
        changed.clear()
        try:
            await asyncio.wait_for(changed.wait(), PATIENCE)
        except TimeoutError:
            return False
    return True


def _drop(client: _Client, tell: Callable[[str], None]) -> None:
    tell(f"dropped {client.name}: it was {client.behind:,} bytes behind")
    client.transport.abort()
