"""Refused requests, and the message for the user."""


class RequestRefused(Exception):
    """A refused request: HTTP status, heading and sentence, shown as a separate page."""

    def __init__(self, status: int, heading: str, sentence: str, *, wait: float = 0.0):
        super().__init__(heading)
        self.status = status
        self.heading = heading
        self.sentence = sentence
        self.wait = wait
        """Seconds after which it may be tried again (Retry-After); 0: not stated."""
