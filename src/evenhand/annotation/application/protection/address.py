"""The public URL of a study, used to create links and to check hosts and forms."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from evenhand.schema import UsageError

PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Address:
    """Scheme, host and port of the application, as browsers write them in the headers Host and Origin."""

    scheme: str
    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> "Address":
        """Read `https://judge.example.org` or `http://127.0.0.1:8000`; raises UsageError for anything else.

        >>> Address.read("https://Judge.example.org:443/").origin
        'https://judge.example.org'
        """
        try:
            parts = urlsplit(text.strip())
            port = parts.port
        except ValueError:
            raise _unreadable(text) from None
        if (
            parts.scheme not in PORTS
            or not parts.hostname
            or parts.path not in ("", "/")
            or parts.query
            or parts.fragment
            or parts.username is not None
        ):
            raise _unreadable(text)
        return cls(parts.scheme, parts.hostname, PORTS[parts.scheme] if port is None else port)

    @property
    def secure(self) -> bool:
        """Return True if browsers use TLS (https)."""
        return self.scheme == "https"

    @property
    def netloc(self) -> str:
        """Return the expected Host header."""
        return self._name if self.port == PORTS[self.scheme] else self._with_port

    @property
    def origin(self) -> str:
        """Return the expected Origin header."""
        return f"{self.scheme}://{self.netloc}"

    def is_host(self, header: str) -> bool:
        """Return True if a Host header names this address, with or without its default port."""
        name = header.strip().lower()
        return name in (self.netloc, self._with_port)

    def is_origin(self, header: str) -> bool:
        """Return True if an Origin header equals this address, with or without its default port."""
        return header in (self.origin, f"{self.scheme}://{self._with_port}")

    def is_referer(self, header: str) -> bool:
        """Return True if a Referer header names this address or a page of it."""
        return self.is_origin("/".join(header.split("/", 3)[:3]))

    @property
    def _name(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def _with_port(self) -> str:
        return f"{self._name}:{self.port}"


def _unreadable(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is not a valid URL of a study.",
        "Give scheme, host and port, without a path: https://judge.example.org or http://127.0.0.1:8000",
    )
