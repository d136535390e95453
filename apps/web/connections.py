"""The connections of the server: how many, and how long each may keep it waiting.

uvicorn closes a connection that is idle after an answer (`timeout_keep_alive`), and limits the size
of a header (`h11_max_incomplete_event_size`) and the connections for which it answers anything but
503 (`limit_concurrency`). It sets no limit on the time that a request takes to arrive. `Connection`
does; uvicorn takes it as `http=`.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from apps.web.refusals import crowded

MOST = 256  # connections at once
DESCRIPTORS = 1_024  # of a process, where the system does not say
ARRIVING = (h11.IDLE, h11.SEND_BODY)  # states of a client whose request is not complete


def most_connections() -> tuple[int, int]:
    """How many connections are open at most, and how many more wait to be accepted.

    In one round the event loop accepts all that wait. The first is closed, if it is one too many,
    two rounds later, and its descriptor is free after one more. Thus connections + 4 * backlog are
    open at most: three quarters of the descriptors that the process may have.
    """
    limit = allowed_descriptors()
    return max(4, min(MOST, limit // 4)), max(1, min(MOST // 2, limit // 8))


def allowed_descriptors() -> int:
    """How many files and sockets this process may have open."""
    try:
        import resource
    except ImportError:  # Windows
        return DESCRIPTORS
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return DESCRIPTORS if limit == resource.RLIM_INFINITY else limit


class Connection(H11Protocol):
    """A connection that is closed if a request does not arrive, or an answer is not taken, in time.

    If `limit_concurrency` connections are open, a new one takes the place of the one that has kept
    the server waiting longest. If no connection does, the new one is answered by `crowded`; uvicorn
    itself would answer a 503 that does not say when to come again.
    """

    PATIENCE = 5.0
    """Seconds until the first byte of a request, from there to its last byte, and for a client that
    takes nothing of an answer."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for the connection, and wait for its request."""
        super().connection_made(transport)
        most, self.limit_concurrency = self.limit_concurrency, None
        if most is not None and len(self.connections) >= most:
            others = [one for one in self.connections if isinstance(one, Connection)]
            waiting = [one for one in others if one.closes_at is not None]
            if waiting:
                min(waiting, key=lambda one: one.closes_at or 0).drop()
            else:
                self.app = crowded
        self._watch()

    @property
    def closes_at(self) -> float | None:
        """When it will be closed if its client does nothing; None while a request is answered.

        In seconds of the event loop's clock.
        """
        timer = self._timer or self.timeout_keep_alive_task
        return None if timer is None else timer.when()

    def drop(self) -> None:
        """Close the connection now, without what has not been sent yet."""
        self._stop()
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed: nothing is waited for."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has arrived. From the first byte of a request the time begins anew."""
        if self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
            self._stop()
        super().data_received(data)

    def handle_events(self) -> None:
        """Handle what has arrived, and wait for the rest if it is no whole request."""
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        """The answer is written. Its client has to take it, and may ask again."""
        super().on_response_complete()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP. Where an answer has begun, h11 allows no other: close then."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the endpoint gets the end of this request
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        """The client does not take the answer: wait for it."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """The client has taken the answer."""
        super().resume_writing()
        self._watch()

    def _watch(self) -> None:
        """Let the time run while it is the client's turn: to send, to take, or to close."""
        is_arriving = self.conn.their_state in ARRIVING
        if not (is_arriving or self.flow.write_paused or self.transport.is_closing()):
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.PATIENCE, self.drop)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
