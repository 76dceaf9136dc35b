"""Limit what one connection or one address may hold, because uvicorn waits forever."""

import asyncio
import socket
import struct

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from evenhand.annotation.application.protection import find_network

SECONDS = 10.0
"""Seconds between two checks of a connection. It is closed if two checks find no complete request."""
LOOKS = 3
"""The connection is closed after this many checks in a row in which the client read nothing."""
LITTLE = 16 * 1024
"""Minimum number of bytes that a client must read between two checks."""
AT_ONCE = struct.pack("ii", 1, 0)
MOST_OF_ADDRESS = 100
"""Maximum number of open connections per address (for IPv6, per /64)."""


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP protocol, which closes connections without a request for two checks, or
    whose client does not read.
    """

    looking: asyncio.TimerHandle | None = None
    hesitates = False
    unread = 0
    """Number of consecutive checks with a waiting response of which little was read since the previous check."""
    waiting = 0
    """Number of waiting bytes at the last check."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.looking = self.loop.call_later(SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.looking is not None:
            self.looking.cancel()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        self.unread = 0
        super().resume_writing()

    def _look(self) -> None:
        # a closed connection also stays as long as there is something to read from it
        before, self.waiting = self.waiting, self.transport.get_write_buffer_size()
        reads = self.waiting == 0 or self.waiting <= before - LITTLE
        self.unread = 0 if reads else self.unread + 1
        if self.unread >= LOOKS:
            self._break_off()
            return
        between_requests = self.timeout_keep_alive_task is not None  # uvicorn itself ends that
        unasked = self.conn.their_state is h11.IDLE and not between_requests
        if unasked and self.hesitates:
            self.transport.close()
        self.hesitates = unasked
        self.looking = self.loop.call_later(SECONDS, self._look)

    def _break_off(self) -> None:
        # without this, the system would keep trying to deliver data that the client does not read
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self.transport.abort()


class SharingProtocol(PatientProtocol):
    """The protocol without a proxy: it limits the connections of one address, so that others can connect.

    At the limit, the oldest idle connection is closed, which browsers replace. If none is idle, the new one is refused.
    """

    address = ""
    since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = find_network(self.client[0] if self.client else "unknown")
        self.since = self.loop.time()
        of_address = [
            other
            for other in self.connections
            if isinstance(other, SharingProtocol) and other.address == self.address
        ]
        if len(of_address) > MOST_OF_ADDRESS:
            idle = (other for other in of_address if other.idle)
            min(idle, key=lambda other: other.since, default=self)._break_off()

    @property
    def idle(self) -> bool:
        """Return whether no request is being processed: none arrived yet, or all were answered."""
        answered = self.cycle is None or self.cycle.response_complete
        return answered and not self.transport.get_write_buffer_size() and not self.transport.is_closing()
