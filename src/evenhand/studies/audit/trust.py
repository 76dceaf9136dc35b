"""What a folder that is gone on with may not decide by itself: whose code is run, who is asked with whose keys.

A folder may come from somebody else. Code that a model brings is run, and a server that a folder names is asked, only
if the person who goes on says so now.
"""

import ipaddress
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evenhand.classifiers import SCORES
from evenhand.models.served import (
    KEY,
    OPENAI_KEY,
    api_key,
    is_address,
    split_address,
)
from evenhand.schema import ResumeRefused, split_options
from evenhand.services import address_parts
from evenhand.studies.audit.classifiers import MODEL_ROLE

OPENAI, GOOGLE = "api.openai.com", "commentanalyzer.googleapis.com"
SERVICES: dict[str, tuple[str, str, str]] = {
    "perspective": (f"https://{GOOGLE}", GOOGLE, "PERSPECTIVE_API_KEY"),
    "moderation": (f"https://{OPENAI}", OPENAI, OPENAI_KEY),
    "llm-judge": ("", OPENAI, OPENAI_KEY),
}
"""By classifier: where it asks by default ("" where the user's own environment says it), the official host, and the
variable that holds the official host's key."""


@dataclass(frozen=True)
class Asked:
    """A server behind a name. host: as the address has it. variable: of the key it would get; "" where none is set.
    safe: an official service with its own key, or this machine without a key."""

    host: str
    variable: str
    safe: bool


def check_code(where: Path, stored: bool, given: bool) -> None:
    """Raise ResumeRefused if a folder says that code which comes with its model is run, and the user does not.

    where: the folder. stored: what it says of `trust_remote_code`. given: what the user says now.
    """
    if stored and not given:
        raise ResumeRefused(
            f"The model of {where} brings Python code, which a folder alone cannot have run here.",
            "Read that code; if you trust it, say so again with --trust-remote-code.",
        )


def check_addresses(
    where: Path, stored: Iterable[str], *, named: Iterable[str] = (), trusted: bool = False
) -> None:
    """Raise ResumeRefused if going on with a folder would ask a server that only the folder names.

    where: the folder. stored: names of models and classifiers in it that would be loaded. named: those that the user
    has named now, each as NAME or ROLE=NAME. trusted: whether the user trusts every address in the folder. Official
    services with their own key, and servers on this machine that get no key, need no naming.
    """
    if trusted:
        return
    given = {part for value in named for part in (value, value.partition("=")[2])}
    for name in stored:
        asked = None if name in given else asked_by(name)
        if asked is None or asked.safe:
            continue
        key = f" with your key from {asked.variable}" if asked.variable else ""
        raise ResumeRefused(
            f"Going on with {where} would ask {asked.host}{key}. That address stands in the folder, "
            "and you have not named it.",
            "If you trust it, add --trust-addresses, or name the classifier again (--classifier ROLE=NAME), or the "
            "model with all its options and the folder behind -o.",
        )


def asked_by(name: str, environment: Mapping[str, str] = os.environ) -> Asked | None:
    """Which server a model or a classifier of this name asks; None where none is.

    name: as `load_model` or `load_classifier` takes it, "perplexity:" in front of a model's name included.
    Raises UsageError for options that cannot be read.

    >>> asked_by("gpt2"), asked_by("http://localhost:8000/v1#gpt2", {})
    (None, Asked(host='localhost:8000', variable='', safe=True))
    >>> asked_by("https://example.org/v1#m?key=HOME", {"HOME": "/home/me"})
    Asked(host='example.org', variable='HOME', safe=False)
    """
    name = name.removeprefix(f"{MODEL_ROLE}:")
    if is_address(name):
        base, _, options = split_address(name)
        variable = options.key
        if not variable:
            key, default = api_key(base, options, environment)
            variable = default if key else ""
        return _asked(base, variable, OPENAI, (KEY, OPENAI_KEY))
    if name.startswith(SCORES):
        return None
    bare, given = split_options(name, blank=False)
    if bare in SERVICES:
        usual, host, own = SERVICES[bare]
        address, named = given.get("url", usual), given.get("key_variable", "")
        variable = named or (own if environment.get(own) else "")
        if not address:  # the user's own $OPENAI_BASE_URL, with the key that goes with it
            return Asked("$OPENAI_BASE_URL", variable, safe=named in ("", own))
        return _asked(address, variable, host, (own,))
    for value in given.values():  # of another package's classifier, whose keys cannot be known
        if is_address(value.lower()):
            return Asked(address_parts(value).netloc, "", safe=False)
    return None


def _asked(address: str, variable: str, official: str, its_own: tuple[str, ...]) -> Asked:
    parts = address_parts(address)
    if parts.scheme == "https" and parts.hostname == official and variable in ("", *its_own):
        return Asked(parts.netloc, variable, safe=True)
    return Asked(parts.netloc, variable, safe=not variable and _is_this_machine(parts.hostname or ""))


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
