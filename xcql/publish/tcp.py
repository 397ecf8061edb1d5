"""Broadcasting by TCP: whoever connects gets what is sent from then on, one fragment a line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from xcql.diagnostics import error
from xcql.publish.addresses import TcpAddress
from xcql.publish.cut import one_line
from xcql.publish.play import Pace, groups_of

# a client that is so many bytes behind is not waited for any longer
BUFFER = 1 << 24
# a client that takes nothing at all for so many seconds is gone
PATIENCE = 30.0


class _Client(asyncio.Protocol):
    """One client: what it has not taken yet waits in its transport's buffer."""

    def __init__(self, clients: set[_Client], changed: asyncio.Event) -> None:
        self._clients = clients
        self._changed = changed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.name = "{}:{}".format(*transport.get_extra_info("peername")[:2])
        # `resume_writing` is to come when everything has gone out
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
    """Play fragments to all who listen; begin when `wait_for` of them are there. How many went out.

    With a pace, time alone decides when a fragment goes out. Without one, the client that is ahead
    does. In both cases one that falls behind too far is dropped.
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
            f"'{address}' cannot be listened at: {(problem.strerror or str(problem)).lower()}",
            hints=["another server may be there: name another port, or 0 for any that is free"],
        ) from None
    async with server:
        port = server.sockets[0].getsockname()[1]
        tell(f"listening at {TcpAddress(address.host, port)}")
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
                await asyncio.sleep(0)  # who came and who went is noticed only here
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
    """The lines of a group, in parts that are much smaller than a buffer."""
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
    """Wait for something to become so of the clients, with patience; whether it did."""
    while not is_so():
        changed.clear()
        try:
            await asyncio.wait_for(changed.wait(), PATIENCE)
        except TimeoutError:
            return False
    return True


def _drop(client: _Client, tell: Callable[[str], None]) -> None:
    tell(f"dropped {client.name}: it is {client.behind:,} bytes behind")
    client.transport.abort()
