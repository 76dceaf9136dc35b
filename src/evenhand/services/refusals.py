"""Telling a refused question from a service that takes no question at all."""

from collections.abc import Callable

from evenhand.schema import ModelError
from evenhand.services.answers import ABSENT, KEY_REFUSED, Answer
from evenhand.services.client import ServiceClient

SUSPICIOUS = 8
"""So many refusals with no answer between them are a reason to look whether the service takes anything."""


class Refusals:
    """Refusals in a row, and the look at a harmless question that tells what they mean.

    A service may refuse any number of questions, if it goes on to answer others. After SUSPICIOUS refusals in a row
    a harmless question of the same form is asked: if that is refused as well, the form (or the key, or the model) is
    at fault and nothing would be answered; if not, the questions are, and the next look comes after twice as many.

    client: of the service.
    """

    def __init__(self, client: ServiceClient):
        self._client = client
        self._look_after = SUSPICIOUS
        self.row: list[str] = []
        """Keys of the questions refused since the last answer: nobody knows yet whether they are at fault."""

    def hear(self, key: str, answer: Answer, harmless: Callable[[], Answer], *, hint: str) -> None:
        """Take note of one answer.

        key: of its question. harmless: asks a harmless question of the same form. hint: what to do if that is
        refused, too. Raises ModelError (EvenhandError for the key) if it is.
        """
        if answer.error is None:
            self.row, self._look_after = [], SUSPICIOUS
        elif answer.refusal is not None:
            self.row.append(key)
            if len(self.row) >= self._look_after:
                self._look(answer, harmless(), hint)

    def _look(self, last: Answer, harmless: Answer, hint: str) -> None:
        if harmless.status in KEY_REFUSED:
            self._client.raise_refused(harmless)
        if harmless.refusal is not None or harmless.status in ABSENT:
            raise ModelError(
                f"{self._client.base_url} refuses every request; the last {len(self.row)} were refused, and so was "
                f"a harmless one. The last with {last.detail}.",
                hint,
            )
        self._look_after *= 2
        if harmless.error is None:
            self.row = []
