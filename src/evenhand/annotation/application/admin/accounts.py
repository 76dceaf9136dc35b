"""Accounts of administrators: passwords as Argon2id hashes. A generated password only allows choosing another one."""

import re
import secrets
import threading
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from evenhand.annotation.application.admin.served import COMMAND_LINE
from evenhand.annotation.store import Store, administration
from evenhand.schema import UsageError

MINIMUM, MAXIMUM = 12, 128
"""Minimum and maximum number of characters of a password."""
FIRST_LASTS = timedelta(days=7)
"""Time after which a generated password expires."""
FIRST_NAME = "admin"
UNKNOWN = "an unknown name"
RESERVED = (COMMAND_LINE, UNKNOWN, "evenhand", "system", "unknown", "nobody", "anonymous")
"""Names that the log uses for actors other than accounts, and similar names."""
LONGEST_NAME = 60
LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
"""Characters of generated passwords, without those that look alike."""
FIRST = "first "
"""Prefix of the hash of a generated password; the time of expiry and the hash follow."""
COMMON = (
    "password",
    "passwort",
    "qwertyuiop",
    "1234567890",
    "letmein",
    "iloveyou",
    "evenhand",
    "administrator",
    "welcome",
    "changeme",
)
"""Common passwords. A password that is one of them, also repeated or with few additions, is among the first guesses."""
ONE_WORD = 10
"""Pattern of a word; a word with numbers and signs around it is guessed early, however many there are."""
LOOKALIKES = str.maketrans("@4301!$57", "aaeoiisst")
YEAR = re.compile(r"(?:19|20)\d\d")

# 19 MiB and two passes, the minimum in OWASP's password storage cheat sheet; a login takes about 30 ms
_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_at_once = threading.BoundedSemaphore(2)
"""Limit of hashes that are computed at a time, so that many logins cannot exhaust the memory."""
_nobody = _hasher.hash(secrets.token_urlsafe(16))
"""Hash that is checked if the account does not exist, so that this takes as long as a wrong password."""


@dataclass(frozen=True)
class Login:
    """A valid combination of name and password."""

    name: str
    must_choose: bool
    """Whether the password was generated, so that another must be chosen before anything else."""


def check_password(password: str, name: str) -> None:
    """Raise UsageError for a password that is too short, too long, or among the first guesses."""
    normal = _normal(password)
    if len(normal) < MINIMUM:
        raise UsageError(
            f"A password needs at least {MINIMUM} characters.", "For example, use a sentence of four words."
        )
    if len(normal) > MAXIMUM:
        raise UsageError(f"A password can have at most {MAXIMUM} characters.", "Choose a shorter one.")
    plain = normal.casefold()
    tried_first = (
        len(set(normal)) < 5
        or _is_a_row(plain)
        or _is_one_word(plain)
        or any(len(_beside_the_common(text, name)) < 5 for text in (plain, plain.translate(LOOKALIKES)))
    )
    if tried_first:
        raise UsageError(
            "This password is too easy to guess.",
            "Choose another, for example four unrelated words.",
        )


def is_reserved(name: str) -> bool:
    """Return True if the log uses a name for something other than an account, or if it looks like such a name.

    >>> is_reserved("Command  Line"), is_reserved("commander")
    (True, False)
    """
    return " ".join(_normal(name).casefold().split()) in RESERVED


def logged_name(store: Store, name: str) -> str:
    """Return an account's name for the log; other input is hidden, because it may be a password in the wrong field."""
    known = len(name) <= LONGEST_NAME and administration.account(store, name) is not None
    return name if known and not is_reserved(name) else UNKNOWN


def set_password(store: Store, name: str, password: str, actor: str, now: datetime) -> None:
    """Create an account, or change its password. This ends all its sessions and is recorded in the audit log.

    Raises UsageError if the name or password is not acceptable.
    """
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip()):
        raise UsageError(
            f"{name[:LONGEST_NAME]!r} is not a name for an account.",
            f"Use 1 to {LONGEST_NAME} letters and digits.",
        )
    if is_reserved(name):
        raise UsageError(f"{name!r} is a reserved name.", "Choose another name.")
    check_password(password, name)
    administration.set_account(store, name, _hash(password))
    administration.record(store, actor, "password set", name, now)


def first_account(store: Store, now: datetime) -> str | None:
    """Create the account `admin` if there is no account yet, and return its password, which is
    stored nowhere; else None.
    """
    if administration.has_account(store):
        return None
    password = "-".join("".join(secrets.choice(LETTERS) for _ in range(4)) for _ in range(4))
    ends = (now + FIRST_LASTS).isoformat()
    administration.set_account(store, FIRST_NAME, f"{FIRST}{ends} {_hash(password)}")
    administration.record(store, COMMAND_LINE, "first account", FIRST_NAME, now)
    return password


def check_login(store: Store, name: str, password: str, now: datetime) -> Login | None:
    """Return the login for a name and password; None if one is wrong, after the same time in both cases."""
    known = len(name) <= LONGEST_NAME and not is_reserved(name)
    stored = administration.account(store, name) if known else None
    first, ends, hashed = _parts(stored)
    right = _is_password(hashed, password)
    if not right or (ends is not None and now >= ends):
        return None
    return Login(name, first)


def must_choose(store: Store, name: str) -> bool:
    """Return whether an account still has its generated password."""
    return _parts(administration.account(store, name))[0]


def _parts(stored: str | None) -> tuple[bool, datetime | None, str]:
    if stored is None:
        return False, None, _nobody
    if stored.startswith(FIRST):
        ends, _, hashed = stored.removeprefix(FIRST).partition(" ")
        return True, datetime.fromisoformat(ends), hashed
    return False, None, stored


def _hash(password: str) -> str:
    with _at_once:
        return _hasher.hash(_normal(password))


def _is_password(hashed: str, password: str) -> bool:
    try:
        with _at_once:
            matches = _hasher.verify(hashed, _normal(password[: 4 * MAXIMUM]))
    except (VerificationError, InvalidHashError):
        return False
    return matches and hashed is not _nobody


def _normal(password: str) -> str:
    # the same letters typed on another keyboard may have other code points
    return unicodedata.normalize("NFKC", password)


def _beside_the_common(password: str, name: str) -> str:
    """Return the rest of a password without common words, the account's name, years and signs."""
    for common in (*COMMON, name.casefold()):
        password = password.replace(common, "")
    return "".join(filter(str.isalnum, YEAR.sub("", password)))


def _is_one_word(password: str) -> bool:
    """Return True if all letters of a password are consecutive, as in Summer2026!! and !!rosemary1998."""
    words = re.findall(r"[^\W\d_]+", password)
    return len(words) <= 1 and len("".join(words)) <= ONE_WORD


def _is_a_row(password: str) -> bool:
    """Return True if each character is equal or next to the previous one, as in abcdefghijkl and 999888777666."""
    steps = [abs(ord(after) - ord(before)) for before, after in pairwise(password)]
    return sum(step <= 1 for step in steps) > 0.7 * len(steps)
