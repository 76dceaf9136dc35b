"""An end to what one connection, or one address, may hold: uvicorn waits for ever, and for anybody."""

import asyncio
import socket
import struct

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from evenhand.annotation.application.protection import network_of

SECONDS = 10.0
"""Between two looks at a connection; one that both find without a whole request is closed."""
LOOKS = 3
"""The connection is closed after this many checks in a row in which the client read nothing."""
LITTLE = 16 * 1024
"""Bytes between two looks; less is not reading."""
AT_ONCE = struct.pack("ii", 1, 0)
MOST_OF_ADDRESS = 100
"""Connections of one address (of IPv6: of one /64) that are open at the same time."""


class PatientProtocol(H11Protocol):
    """HTTP as uvicorn speaks it; who takes longer than two looks to ask for something, or does not read, is let go."""

    looking: asyncio.TimerHandle | None = None
    hesitates = False
    unread = 0
    """Looks in a row that found an answer waiting, of which little was read since the look before."""
    waiting = 0
    """Bytes that the last look found waiting."""

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
        # one that was closed stays, too, as long as there is something to be read from it
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
        # Without this, the system would keep trying to deliver data that the client does not read.
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self.transport.abort()


class SharingProtocol(PatientProtocol):
    """Where no proxy stands between: one address has an end to its connections, so that others find some left.

    Beyond it the oldest that waits makes room, which browsers do not mind: they open another. Where all are being
    answered, the new one is turned away.
    """

    address = ""
    since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = network_of(self.client[0] if self.client else "unknown")
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
        """Whether nothing is being answered: a connection that asked for nothing yet, or not again."""
        answered = self.cycle is None or self.cycle.response_complete
        return answered and not self.transport.get_write_buffer_size() and not self.transport.is_closing()
