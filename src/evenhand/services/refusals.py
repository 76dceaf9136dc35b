"""Distinguish a request that a service refuses from a service that responds to no request at all."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from evenhand.schema import ModelError, ServiceUnavailable
from evenhand.services.answers import ABSENT, KEY_REFUSED, Answer
from evenhand.services.client import WHEN_BACK, ServiceClient

SUSPICIOUS = 8
"""After this many requests in a row without a response, a harmless request tests whether the service responds at
all."""
_answered_before: ContextVar[bool] = ContextVar("evenhand_answered_before", default=False)


@contextmanager
def note_earlier_responses(known: bool) -> Iterator[None]:
    """State, while the block runs, whether the run has responses to requests of this kind from any source.

    A service that has given a response does not refuse everything, even if all remaining requests are
    refused.
    """
    token = _answered_before.set(known)
    try:
        yield
    finally:
        _answered_before.reset(token)


class Refusals:
    """Counts requests in a row without a response, and finds the cause with a harmless request.

    A service may refuse or fail on any number of requests if it responds to others.

    Parameters
    ----------
    client : ServiceClient
        Client of the service.

    Notes
    -----
    After SUSPICIOUS requests without a response, a harmless request of the same form is sent. There are three
    cases:

    - It gets a response: the other requests are the cause. The next check comes after twice as many.
    - It is refused: the form of the requests is the cause, unless a request of that form got a response
      before, in this process or in the run.
    - It gets no response: the service is down.
    """

    def __init__(self, client: ServiceClient):
        self._client = client
        self._look_after = SUSPICIOUS
        self._answered: set[str] = set()
        self._silent = 0  # consecutive failures without a response in between
        self.row: list[str] = []
        """Keys of the requests since the last response that got none. It is not yet known whether they are the
        cause."""

    def begin(self, form: str, *, stored: bool) -> None:
        """Prepare for requests of a form. `stored` states whether stored responses to such requests exist."""
        if _answered_before.get():
            self._client.trust_key()
        if stored or _answered_before.get():
            self._answered.add(form)

    def record_answer(
        self, key: str, answer: Answer, harmless: Callable[[], Answer], *, form: str = "", hint: str
    ) -> None:
        """Record one response.

        Parameters
        ----------
        key : str
            Key of the request.
        harmless : callable
            Sends a harmless request of the same form. Raises if the service cannot be reached.
        form : str
            What requests have in common that are all accepted or all refused.
        hint : str
            Advice if the form is refused.

        Raises
        ------
        ModelError
            No request of the form is accepted.
        ServiceUnavailable
            The key is refused, or the service is down.
        """
        if answer.error is None:
            self._answered.add(form)
            self._reset(SUSPICIOUS)
            return
        self.row.append(key)
        self._silent = self._silent + 1 if answer.refusal is None else 0
        nowhere = answer.status in ABSENT and form not in self._answered
        if nowhere or len(self.row) >= self._look_after:
            self._diagnose_failures(answer, harmless(), form, hint)

    def _diagnose_failures(self, last: Answer, harmless: Answer, form: str, hint: str) -> None:
        address, doubled = self._client.base_url, 2 * self._look_after
        rest = f"the last {len(self.row)} requests failed, and so did a harmless test request"
        rest = f"{rest}. The last error: {(last.detail or 'no response').rstrip('.')}."
        if harmless.status in KEY_REFUSED:
            self._client.raise_refused(harmless)
        if harmless.error is None:
            self._answered.add(form)
        if harmless.error is None or (harmless.refusal is not None and form in self._answered):
            self._reset(doubled)
        elif harmless.refusal is not None:
            raise ModelError(f"{address} rejects every request: {rest}", hint)
        elif self._silent >= SUSPICIOUS:
            why = "it is down, it limits requests, or its responses cannot be read"
            raise ServiceUnavailable(f"{address} gives no usable response ({why}): {rest}", WHEN_BACK)
        else:
            self._look_after = doubled

    def _reset(self, look_after: int) -> None:
        self.row, self._silent, self._look_after = [], 0, look_after
