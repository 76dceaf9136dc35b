"""Requests that are not answered, and what the person in front of the page is told."""


class Refused(Exception):
    """A request that is refused: an HTTP status, a heading and a sentence, shown as a page of its own."""

    def __init__(self, status: int, heading: str, sentence: str, *, wait: float = 0.0):
        super().__init__(heading)
        self.status = status
        self.heading = heading
        self.sentence = sentence
        self.wait = wait
        """Seconds after which it may be tried again (Retry-After); 0: not said."""
