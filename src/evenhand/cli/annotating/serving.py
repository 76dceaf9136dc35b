"""`evenhand annotate STUDY.yaml`, and what prepares it: invite, account."""

import ipaddress
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer

from evenhand.cli.annotating.making import made
from evenhand.cli.annotating.opening import (
    database_of,
    is_study_file,
    need_annotate,
    opened,
    without_password,
)
from evenhand.cli.common import say
from evenhand.schema import UsageError

if TYPE_CHECKING:
    from evenhand.annotation import Store

ADDRESS = "EVENHAND_ANNOTATE_ADDRESS"
MOST_INVITES = 10_000
MOST_USES = 1_000_000
LINK_HELP = "Where people reach it, such as https://judge.example.org."


def serve(
    study: Path | None = typer.Argument(None, metavar="STUDY.yaml", help="The study file."),
    from_: list[str] = typer.Option(
        [], "--from", metavar="RUN", help="Make a study of a run or a file first; repeatable."
    ),
    template: str | None = typer.Option(None, help="acute, regard, robbie, redditbias or labels."),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="STUDY.yaml", help="Where the study made goes."
    ),
    benchmark: str | None = typer.Option(None, help="Whose answers of a run are judged."),
    limit: int | None = typer.Option(None, min=1, help="Items, drawn evenly over groups."),
    name: str | None = typer.Option(
        None, help="Of the study that is made. Default: of its template and sources."
    ),
    pairing: str | None = typer.Option(
        None,
        metavar="same|drawn",
        help="acute: answers to one prompt, or conversations at random (their default).",
    ),
    speaker: str | None = typer.Option(
        None, metavar="A|B", help="acute: whose lines of a conversation are judged. Default: B, who answers."
    ),
    keep_unsafe: bool = typer.Option(
        False, "--keep-unsafe", help="acute: also what a classifier called toxic or offensive."
    ),
    leave_out: list[str] = typer.Option(
        [], "--leave-out", metavar="COLUMN=VALUE", help="Texts that are not wanted; repeatable."
    ),
    shown: str | None = typer.Option(
        None,
        "--show",
        metavar="apart|whole|judged",
        help="Of runs: the prompt above the answer, both as one text, or what the classifier judged.",
    ),
    survey: bool = typer.Option(False, "--survey", help="Statements of SDO7 behind each unit."),
    seed: int | None = typer.Option(None, min=0, help="Of the draw. Default: 0."),
    database: str | None = typer.Option(
        None, help="A file, or postgresql://... Default: EVENHAND_ANNOTATE_DATABASE, or beside the study."
    ),
    address: str | None = typer.Option(None, help=LINK_HELP),
    host: str = typer.Option("127.0.0.1", help="Which interface to listen on."),
    port: int = typer.Option(8000, min=1, max=65535, metavar="PORT", help="Which port, 1 to 65535."),
    proxied: bool = typer.Option(False, "--proxied", help="Believe X-Forwarded-* of a proxy in front."),
    no_serve: bool = typer.Option(False, "--no-serve", help="Make the study and its database, and stop."),
) -> None:
    """Serve a study until Ctrl-C; with --from, make its file first. `serve` itself may be left out."""
    need_annotate()
    if not no_serve:
        address = reached_at(address or os.environ.get(ADDRESS), host, port)
    how = {
        "benchmark": benchmark,
        "limit": limit,
        "name": name,
        "pairing": pairing,
        "speaker": speaker,
        "drop_unsafe": False if keep_unsafe else None,
        "leave_out": leave_out or None,
        "show": shown,
        "survey": survey or None,
        "seed": seed,
    }
    how = {option: value for option, value in how.items() if value is not None}
    if from_:
        study = made(study, from_, template, output, how)
    elif how or template is not None or output is not None:
        raise UsageError(
            "--template, -o and what else says how a study is made go with --from.", "Add --from RUN."
        )
    if study is None:
        raise UsageError("There is no study to serve.", "evenhand annotate STUDY.yaml, or --from RUN.")
    if not is_study_file(str(study)):
        raise UsageError(
            f"{study} is no study file.", "A study file ends in .yaml; its database is found beside it."
        )
    store, where = _begun(study, database)
    try:
        if no_serve:
            say(f"Ready. To serve it: evenhand annotate {study}")
        else:
            assert address is not None
            _serve(store, study, where, address, host, port, proxied)
    finally:
        store.close()


def invite(
    study: str = typer.Argument(
        ..., metavar="STUDY", help="The study file, its database, or postgresql://..."
    ),
    number: int = typer.Option(20, min=1, max=MOST_INVITES, help="Links."),
    uses: int = typer.Option(
        1, min=0, max=MOST_USES, help="Number of people whom each link admits; 0: no limit."
    ),
    note: str = typer.Option("", help="For yourself, beside them on the admin's page."),
    days: float | None = typer.Option(None, min=0.001, max=3650, help="After which they let nobody in."),
    address: str | None = typer.Option(
        None, help=f"{LINK_HELP} Default: EVENHAND_ANNOTATE_ADDRESS, or where it was last served."
    ),
    name: str | None = typer.Option(None, "--study", help="Which study, where a database holds several."),
    database: str | None = typer.Option(None, help="Of a study file, if it is not beside it."),
) -> None:
    """Print new links that let people in, one a line."""
    store = opened(study, name, database)
    try:
        from evenhand.annotation.application import invite_link, last_address
        from evenhand.annotation.store import administration, people

        known = address or os.environ.get(ADDRESS) or last_address(store)
        if known is None:
            raise UsageError(
                "This study was never served, so nobody knows where links should lead.",
                "--address https://judge.example.org, or http://127.0.0.1:8000 for this machine alone.",
            )
        there = _checked_address(known)
        now = datetime.now(UTC)
        lasts = None if days is None else timedelta(days=days)
        made = people.make_invites(store, number, now, uses=uses or None, note=note, lasts=lasts)
        administration.record(store, "command line", "invites made", str(number), now, note)
        for one in made:
            typer.echo(invite_link(store, there, one.id))
    finally:
        store.close()


def account(
    study: str = typer.Argument(
        ..., metavar="STUDY", help="The study file, its database, or postgresql://..."
    ),
    account_name: str = typer.Argument("admin", metavar="[NAME]", help="Of the account."),
    name: str | None = typer.Option(None, "--study", help="Which study, where a database holds several."),
    database: str | None = typer.Option(None, help="Of a study file, if it is not beside it."),
) -> None:
    """Make an admin's account, or give it another password, asked for or read from standard input."""
    store = opened(study, name, database)
    try:
        from evenhand.annotation.application import set_password

        password = _asked_password()
        set_password(store, account_name, password, "command line", datetime.now(UTC))
        say(f"{account_name} has this password now; whoever was logged in by that name no longer is.")
    finally:
        store.close()


def reached_at(address: str | None, host: str, port: int) -> str:
    """Where people reach a server that listens on `host`: what was said, or the host itself if it is this machine.

    Raises UsageError for another interface without an address: a password and session cookies would cross the network
    unencrypted, which only an explicit http:// address may ask for.

    >>> reached_at(None, "127.0.0.1", 8000), reached_at("https://judge.example.org/", "0.0.0.0", 80)
    ('http://127.0.0.1:8000', 'https://judge.example.org')
    """
    if address:
        return _checked_address(address)
    if not is_loopback(host):
        raise UsageError(
            f"--host {host} lets other machines in, and without --address nobody knows how they reach it.",
            "Behind a proxy with a certificate: --address https://NAME --proxied. Without encryption, in a network "
            f"where you trust everybody: --address http://NAME:{port}",
        )
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an interface.

    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("lab.example.org")
    (True, True, False, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _checked_address(address: str) -> str:
    parts = urlsplit(address)
    try:
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known or parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc:
        raise UsageError(
            f"--address {address[:200]} is not where a web server is reached.",
            "https://NAME or http://NAME:PORT, without a path: give the study a name or port of its own.",
        )
    return f"{parts.scheme}://{parts.netloc}"


def _begun(study: Path, database: str | None) -> tuple["Store", str]:
    from evenhand.annotation import begin_study, read_study

    where = database_of(study, database)
    store = begin_study(where, read_study(study))
    return store, where


def _serve(
    store: "Store", study: Path, where: str, address: str, host: str, port: int, proxied: bool
) -> None:
    from evenhand.annotation import application as web

    def announce() -> None:
        now = datetime.now(UTC)
        _announce(store, study, where, address, host, proxied, now)
        web.remember_address(store, address, now)

    web.serve(store, address=address, host=host, port=port, proxied=proxied, announce=announce)
    say("Stopped; every answer that was sent is stored.")


def _announce(
    store: "Store", study: Path, where: str, address: str, host: str, proxied: bool, now: datetime
) -> None:
    """Print how the study stands and how people and admins get in."""
    from evenhand.annotation import application as web
    from evenhand.annotation.store import administration

    far = administration.progress(store, now)
    password = web.first_account(store, now)
    told = {
        "study": f"{store.study.title}: {far.votes:,} of {far.votes_wanted:,} votes, {far.persons:,} people so far",
        "database": without_password(where),
        "people": _links(store, study, address, now),
        "admin": f"{address}/admin" + _account_told(password),
        "stop": "Ctrl-C; the same command goes on, and links stay valid",
    }
    for name, text in told.items():
        say(f"{name:<9} {text}")
    for warning in _warnings(address, host, proxied):
        say(f"warning: {warning}", err=True)
    sys.stdout.flush()


def _links(store: "Store", study: Path, address: str, now: datetime) -> str:
    """How people get in. A shared link is made with the study, and told unless other links were made on purpose."""
    from evenhand.annotation.application import invite_link
    from evenhand.annotation.store import people

    made = people.invites(store) or people.make_invites(
        store, 1, now, uses=None, note="made when first served"
    )
    own = f"for a link of their own each: evenhand annotate invite {study}"
    for one in made:
        if one.uses is None and not one.revoked and (one.expires is None or one.expires > now):
            link = invite_link(store, address, one.id)
            told = "lets in anybody who has it, as a new person in every browser: to try it, or for one room"
            return f"{own}\n{'shared':<9} {link}\n{'':9} {told}"
    return f"{own} ({len(made):,} links made so far)"


def _account_told(password: str | None) -> str:
    if password is None:
        return ""
    return f"\n{'':9} user admin, password {password} (shown once; you choose your own when you log in)"


def _warnings(address: str, host: str, proxied: bool) -> list[str]:
    found = []
    if address.startswith("http://") and not is_loopback(urlsplit(address).hostname or ""):
        found.append(
            f"{address} is not encrypted: passwords, links and cookies can be read on the way. Use https for more "
            "than a network where you trust everybody."
        )
    if address.startswith("https://") and not proxied:
        found.append(
            "without --proxied the proxy that has the certificate for https counts as everybody's address: "
            "one who guesses passwords slows all."
        )
    return found


def _asked_password() -> str:
    if sys.stdin.isatty():
        return str(
            typer.prompt("Password (12 characters or more)", hide_input=True, confirmation_prompt=True)
        )
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise UsageError("Standard input holds no password.", "Its first line is taken.")
    return password
