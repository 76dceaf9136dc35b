"""Remove keys from the responses of a service before they are shortened, stored or shown."""

import re
from collections.abc import Mapping
from typing import Any

MARK = "***"
NOT_SECRET = frozenset({"accept", "content-type", "user-agent", "openai-organization", "openai-project"})
SHORTEST = 7  # minimum number of characters of a secret
EDGE = 8
"""Number of characters at the beginning or end of a secret that identify it, because messages
shorten keys in the middle.
"""
ESCAPED = re.compile(
    r"\\u\{?([0-9a-f]{4})\}?|\\x([0-9a-f]{2})|%([0-9a-f]{2})|&#x([0-9a-f]{1,4});|&#([0-9]{1,5});|\\(/)", re.I
)
ROUNDS = 3  # levels of nested escapes that are decoded


class Redaction:
    """Removes the secrets in the headers of a request from its response.

    headers: as they are sent; all except NOT_SECRET contain secrets.

    >>> redaction = Redaction({"Authorization": "Bearer sk-0123456789abcdef"})
    >>> redaction.text("Incorrect key sk-0123456789abcdef"), redaction.text("Incorrect key sk-01234567...")
    ('Incorrect key ***', 'Incorrect key ***...')
    >>> redaction.value({"model": "m", "error": {"sk-0123456789abcdef": ["...789abcdef", 1]}})
    {'model': 'm', 'error': {'***': ['...***', 1]}}
    """

    def __init__(self, headers: Mapping[str, str]):
        values = [value for name, value in headers.items() if name.lower() not in NOT_SECRET]
        parts = {part for value in values for part in (value, *value.split()) if len(part) >= SHORTEST}
        self._secrets = sorted(parts - {"Bearer"}, key=len, reverse=True)

    def value(self, value: Any) -> Any:
        """Return a parsed JSON value without secrets, also in the names of its fields; the depth of
        nesting is limited.
        """
        if not self._secrets:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.value(inner) for name, inner in value.items()}
        return [self.value(inner) for inner in value] if isinstance(value, list) else value

    def text(self, text: str) -> str:
        """Return a text without secrets; if it contains one in escaped characters, the text is
        returned without the escapes.
        """
        if not self._secrets or len(text) < SHORTEST:
            return text
        if "\\" in text or "%" in text or "&" in text:
            plain = text
            for _ in range(ROUNDS):
                plain = ESCAPED.sub(_decode_escape, plain)
            bare = self._remove_secrets(plain)
            if plain != text and bare != plain:
                return bare
        return self._remove_secrets(text)

    def _remove_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MARK)
            if " " in secret or len(secret) < EDGE:
                continue  # the beginning of "Bearer ..." is an English word
            text = _remove_secret_beginnings(text, secret)
            text = (
                _remove_secret_beginnings(text[::-1], secret[::-1])[::-1] if secret[-EDGE:] in text else text
            )
        return text


def _remove_secret_beginnings(text: str, secret: str) -> str:
    kept, done = [], 0
    while (at := text.find(secret[:EDGE], done)) >= 0:
        kept += [text[done:at], MARK]
        length = EDGE
        while text[at : at + length + 1] == secret[: length + 1] and length < len(secret):
            length += 1
        done = at + length
    return "".join((*kept, text[done:])) if done else text


def _decode_escape(escape: re.Match[str]) -> str:
    *hexadecimal, decimal, slash = escape.groups()
    if slash or decimal:
        return slash or chr(int(decimal))
    return chr(int(next(filter(None, hexadecimal)), 16))
