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
    StudyDatabase,
    StudyName,
    StudyPlace,
    find_database,
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
LINK_HELP = "URL at which annotators reach the server, such as https://judge.example.org."


def serve(
    study: Path | None = typer.Argument(None, metavar="STUDY.yaml", help="Study file."),
    from_: list[str] = typer.Option(
        [],
        "--from",
        metavar="RUN",
        help="Folder of a run, or file of texts, from which to create a study. Repeatable.",
    ),
    template: str | None = typer.Option(
        None, help="Template of the new study: acute, regard, robbie, redditbias or labels."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="STUDY.yaml", help="File for the new study."
    ),
    benchmark: str | None = typer.Option(
        None, help="For runs: show only responses to this benchmark, if a run has several."
    ),
    limit: int | None = typer.Option(
        None, min=1, help="Maximum number of items, sampled evenly over groups."
    ),
    name: str | None = typer.Option(
        None, help="Title of the new study. Default: a title made from the template and the sources."
    ),
    pairing: str | None = typer.Option(
        None,
        metavar="same|drawn",
        help="For acute: how pairs are formed: responses to the same prompt (same), or random conversations (drawn). "
        "Default: drawn for conversations, otherwise same.",
    ),
    speaker: str | None = typer.Option(
        None,
        metavar="A|B",
        help="For acute: speaker whose lines are judged. Default: B, the speaker who replies.",
    ),
    keep_unsafe: bool = typer.Option(
        False,
        "--keep-unsafe",
        help="For acute: include conversations that a classifier labelled as toxic or offensive.",
    ),
    leave_out: list[str] = typer.Option(
        [],
        "--leave-out",
        metavar="COLUMN=VALUE",
        help="For acute: leave out texts that have this value in this column, such as 'template=was known for'. "
        "Repeatable.",
    ),
    shown: str | None = typer.Option(
        None,
        "--show",
        metavar="apart|whole|judged",
        help="For runs: show the prompt above the response (apart), both as one text (whole), or the text that the "
        "classifier labelled (judged).",
    ),
    survey: bool = typer.Option(
        False,
        "--survey",
        help="After each batch, ask annotators to rate statements of the SDO7 scale (views on social equality).",
    ),
    seed: int | None = typer.Option(None, min=0, help="Random seed for sampling. Default: 0."),
    database: str | None = typer.Option(
        None,
        help="Database: a file, or postgresql://... Default: EVENHAND_ANNOTATE_DATABASE, or a file next to "
        "the study.",
    ),
    address: str | None = typer.Option(None, help=LINK_HELP),
    host: str = typer.Option("127.0.0.1", help="Network interface to listen on."),
    port: int = typer.Option(8000, min=1, max=65535, metavar="PORT", help="Port to listen on, 1 to 65535."),
    proxied: bool = typer.Option(
        False,
        "--proxied",
        help="Trust the X-Forwarded-* headers, which state annotators' network addresses and the URL. Use this only "
        "behind a reverse proxy that sets them.",
    ),
    no_serve: bool = typer.Option(False, "--no-serve", help="Create the study and its database, then exit."),
) -> None:
    """Serve a study until Ctrl-C. With --from, create its file first. The word `serve` can be left out.

    \b
    Examples:
      evenhand annotate study.yaml
      evenhand annotate --from runs/gpt2 --template regard -o study.yaml
    """
    need_annotate()
    if not no_serve:
        address = find_public_url(address or os.environ.get(ADDRESS), host, port)
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
            "`--template`, `-o` and the other options that describe a new study require `--from`.",
            "Add --from RUN.",
        )
    if study is None:
        raise UsageError(
            "Missing argument: STUDY.",
            "Give a study file (evenhand annotate STUDY.yaml), or create one with --from RUN.",
        )
    if not is_study_file(str(study)):
        raise UsageError(
            f"{study} is not a study file.",
            "Give a file that ends in .yaml. Its database is found automatically.",
        )
    store, where = _begin_study(study, database)
    try:
        if no_serve:
            say(f"Ready. To serve it: evenhand annotate {study}")
        else:
            assert address is not None
            _serve(store, study, where, address, host, port, proxied)
    finally:
        store.close()


def invite(
    study: StudyPlace,
    number: int = typer.Option(20, min=1, max=MOST_INVITES, help="Number of links."),
    uses: int = typer.Option(
        1, min=0, max=MOST_USES, help="Number of people who can use each link. 0 means no limit."
    ),
    note: str = typer.Option("", help="Note about the links, shown next to them on the admin's page."),
    days: float | None = typer.Option(
        None, min=0.001, max=3650, help="Number of days after which the links expire."
    ),
    address: str | None = typer.Option(
        None,
        help=f"{LINK_HELP} Default: EVENHAND_ANNOTATE_ADDRESS, or the URL at which the study was last "
        "served.",
    ),
    name: StudyName = None,
    database: StudyDatabase = None,
) -> None:
    """Print new links for annotators, one per line.

    \b
    Example:  evenhand annotate invite study.yaml --number 10
    """
    store = opened(study, name, database)
    try:
        from evenhand.annotation.application import invite_link, last_address
        from evenhand.annotation.store import administration, people

        known = address or os.environ.get(ADDRESS) or last_address(store)
        if known is None:
            raise UsageError(
                "The URL for the links is not known, because this study has never been served.",
                "Give it: --address https://judge.example.org, or http://127.0.0.1:8000 for this machine only.",
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
    study: StudyPlace,
    account_name: str = typer.Argument("admin", metavar="[NAME]", help="Name of the account."),
    name: StudyName = None,
    database: StudyDatabase = None,
) -> None:
    """Create an admin account, or change its password. The password is read from a prompt or from standard
    input.

    \b
    Example:  evenhand annotate account study.yaml admin
    """
    store = opened(study, name, database)
    try:
        from evenhand.annotation.application import set_password

        password = _asked_password()
        set_password(store, account_name, password, "command line", datetime.now(UTC))
        say(f"Password of {account_name} changed. Existing sessions of this account are closed.")
    finally:
        store.close()


def find_public_url(address: str | None, host: str, port: int) -> str:
    """Return the URL of a server that listens on `host`: the given one, or the host if it is this machine.

    Raises UsageError for another interface without a URL: a password and session cookies would cross the network
    unencrypted, which requires an explicit http:// URL.

    >>> find_public_url(None, "127.0.0.1", 8000), find_public_url("https://judge.example.org/", "0.0.0.0", 80)
    ('http://127.0.0.1:8000', 'https://judge.example.org')
    """
    if address:
        return _checked_address(address)
    if not is_loopback(host):
        raise UsageError(
            f"`--host {host}` requires `--address`, the URL at which other machines reach the server.",
            "Behind a proxy with HTTPS: --address https://NAME --proxied. Without encryption, in a trusted "
            f"network only: --address http://NAME:{port}",
        )
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach a network interface.

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
            f"--address {address[:200]} is not a valid URL of a web server.",
            "Expected https://NAME or http://NAME:PORT, without a path: use a separate host name or port for the "
            "study.",
        )
    return f"{parts.scheme}://{parts.netloc}"


def _begin_study(study: Path, database: str | None) -> tuple["Store", str]:
    from evenhand.annotation import begin_study, read_study

    where = find_database(study, database)
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
    say("Stopped. All submitted judgements are stored.")


def _announce(
    store: "Store", study: Path, where: str, address: str, host: str, proxied: bool, now: datetime
) -> None:
    """Print the state of the study, and how annotators and administrators get access."""
    from evenhand.annotation import application as web
    from evenhand.annotation.store import administration

    far = administration.progress(store, now)
    password = web.first_account(store, now)
    told = {
        "study": (
            f"{store.study.title}: {far.votes:,} of {far.votes_wanted:,} judgements, {far.persons:,} "
            "annotators so far"
        ),
        "database": without_password(where),
        "people": _links(store, study, address, now),
        "admin": f"{address}/admin" + _describe_account(password),
        "stop": "Ctrl-C; the same command resumes, and links stay valid",
    }
    for name, text in told.items():
        say(f"{name:<9} {text}")
    for warning in _warnings(address, host, proxied):
        say(f"warning: {warning}", err=True)
    sys.stdout.flush()


def _links(store: "Store", study: Path, address: str, now: datetime) -> str:
    """Return how annotators get access. A shared link is created with the study, and shown
    unless there are other links.
    """
    from evenhand.annotation.application import invite_link
    from evenhand.annotation.store import people

    made = people.invites(store) or people.make_invites(
        store, 1, now, uses=None, note="created when the study was first served"
    )
    own = f"to create a personal link for each annotator: evenhand annotate invite {study}"
    for one in made:
        if one.uses is None and not one.revoked and (one.expires is None or one.expires > now):
            link = invite_link(store, address, one.id)
            told = (
                "admits anyone who has it, as a new annotator in each browser: for testing, or for use in one "
                "room"
            )
            return f"{own}\n{'shared':<9} {link}\n{'':9} {told}"
    return f"{own} ({len(made):,} links created so far)"


def _describe_account(password: str | None) -> str:
    if password is None:
        return ""
    return f"\n{'':9} user admin, password {password} (shown only once; choose your own when you log in)"


def _warnings(address: str, host: str, proxied: bool) -> list[str]:
    found = []
    if address.startswith("http://") and not is_loopback(urlsplit(address).hostname or ""):
        found.append(
            f"{address} is not encrypted: passwords, links and cookies can be read in transit. Outside a trusted "
            "network, use https."
        )
    if address.startswith("https://") and not proxied:
        found.append(
            "--proxied is not set: all visitors appear to come from the address of the HTTPS proxy, so one client "
            "that guesses passwords slows down everyone."
        )
    return found


def _asked_password() -> str:
    if sys.stdin.isatty():
        return str(
            typer.prompt("Password (at least 12 characters)", hide_input=True, confirmation_prompt=True)
        )
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise UsageError("No password on standard input.", "Give the password in its first line.")
    return password
