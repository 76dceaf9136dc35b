"""An end to the time in which a connection may say what it wants: uvicorn waits for ever."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10.0
"""Between two looks at a connection; one that both find without a whole request is closed."""


class PatientProtocol(H11Protocol):
    """HTTP as uvicorn speaks it; who takes longer than two looks to ask for something is let go."""

    looking: asyncio.TimerHandle | None = None
    hesitates = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.looking = self.loop.call_later(SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.looking is not None:
            self.looking.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        between_requests = self.timeout_keep_alive_task is not None  # uvicorn itself ends that
        unasked = self.conn.their_state is h11.IDLE and not between_requests
        if unasked and self.hesitates:
            self.transport.close()
            return
        self.hesitates = unasked
        self.looking = self.loop.call_later(SECONDS, self._look)
