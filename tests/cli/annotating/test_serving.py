"""`evenhand annotate STUDY.yaml` as a process: served, asked by a browser, stopped, and gone on with."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import Ended

STUDY = """\
evenhand_study: 1
name: tiny
title: What do these texts say?
questions:
  - {id: tone, kind: choice, text: How does it sound?, options: [{id: good, label: Good}, {id: bad, label: Bad}]}
items:
  - {id: one, text: The first text.}
  - {id: two, text: The second text.}
assignment: {annotations_per_item: 2, items_per_unit: 2}
"""
PASSWORD = "violets on a windowsill"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.yaml"
    file.write_text(STUDY)
    return file


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


@dataclass
class Served:
    """A server that was started as a process."""

    process: subprocess.Popen[str]
    address: str
    told: str

    @property
    def link(self) -> str:
        found = re.search(r"^shared\s+(\S+/i/\S+)$", self.told, re.MULTILINE)
        assert found, self.told
        return found[1]

    @property
    def password(self) -> str | None:
        found = re.search(r"password (\S+)", self.told)
        return found[1] if found else None

    def stop(self, by: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(by)
        rest, _ = self.process.communicate(timeout=60)
        return self.process.returncode, rest


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Starts `evenhand annotate ...` and waits until it answers."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object, port: int | None = None, path: str = "/health") -> Served:
        port = port or free_port()
        command = [sys.executable, "-m", "evenhand", "annotate", *map(str, arguments), "--port", str(port)]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "COLUMNS": "300"},
        )
        started.append(process)
        told = ""
        assert process.stdout is not None
        for line in process.stdout:
            told += line
            if line.startswith("stop"):
                break
        address = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < until:
            try:
                if httpx.get(address + path, trust_env=False).status_code == 200:
                    return Served(process, address, told)
            except httpx.TransportError:
                time.sleep(0.05)
        process.kill()
        raise AssertionError(told + process.communicate()[0])

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def browser(address: str) -> httpx.Client:
    return httpx.Client(base_url=address, headers={"Origin": address}, trust_env=False)


def sent(client: httpx.Client, page: str, path: str, **fields: str) -> httpx.Response:
    token = re.search(r'name="form_token" value="([^"]+)"', client.get(page).text)
    assert token, page
    return client.post(path, data={"form_token": token[1], **fields})


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_study_is_served_stopped_and_gone_on_with(
    serve: Callable[..., Served], study: Path, stop: signal.Signals
) -> None:
    first = serve(study)
    port = int(first.address.rpartition(":")[2])
    assert first.password and "Ctrl-C" in first.told and "0 of 4 votes" in first.told
    own = first.told.index(
        f"people    to create a personal link for each annotator: evenhand annotate invite {study}"
    )
    assert (
        own
        < first.told.index(first.link)
        < first.told.index("admits anyone who has it, as a new annotator in each")
    )
    with browser(first.address) as person, browser(first.address) as admin:
        assert "invited" in person.get(first.link).text
        assert sent(person, first.link, first.link).headers["location"] == "/study"
        entered = sent(admin, "/admin/login", "/admin/login", name="admin", password=first.password)
        assert entered.headers["location"] == "/admin/account"
        sent(
            admin,
            "/admin/account",
            "/admin/account",
            password=first.password,
            chosen=PASSWORD,
            again=PASSWORD,
        )
        sessions = person.cookies, admin.cookies
    assert first.stop(stop) == (0, "Stopped. All submitted judgements are stored.\n")

    again = serve(study, port=port)
    assert again.password is None and again.link == first.link
    with browser(again.address) as person, browser(again.address) as admin:
        person.cookies, admin.cookies = sessions
        assert "What do these texts say?" in person.get("/study").text
        assert admin.get("/admin").status_code == 200
        assert person.get(first.link).status_code == 200
        assert sent(admin, "/admin", "/admin/logout").status_code == 303
        back = sent(admin, "/admin/login", "/admin/login", name="admin", password=PASSWORD)
        assert back.headers["location"] == "/admin"
    again.process.kill()  # no time to say anything
    again.process.communicate()
    assert serve(study, port=port).link == first.link


@pytest.mark.slow
def test_links_made_beside_a_server_let_in_at_once_and_backups_are_made_meanwhile(
    serve: Callable[..., Served],
    study: Path,
    shell: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    server = serve(study)
    made = shell("annotate", "invite", study, "--number", "2", "--note", "later")
    assert made.returncode == 0, made.stderr
    links = made.stdout.split()
    assert len(links) == 2 and all(link.startswith(f"{server.address}/i/") for link in links)
    with browser(server.address) as person:
        assert sent(person, links[0], links[0]).headers["location"] == "/study"
    assert httpx.get(f"{links[1]}x", trust_env=False).status_code == 403
    copy = shell("annotate", "backup", study, "-o", tmp_path / "copy.sqlite")
    assert copy.returncode == 0, copy.stderr
    assert oct((tmp_path / "copy.sqlite").stat().st_mode & 0o777) == "0o600"
    assert server.stop(signal.SIGINT)[0] == 0
    export = shell("annotate", "export", tmp_path / "copy.sqlite", "-o", tmp_path / "out.jsonl")
    assert export.returncode == 0 and (tmp_path / "out.jsonl").exists()


@pytest.mark.slow
def test_a_taken_port_is_told(
    serve: Callable[..., Served], study: Path, shell: Callable[..., object]
) -> None:
    server = serve(study)
    second = shell("annotate", study, "--port", server.address.rpartition(":")[2])
    assert second.returncode == 2 and "Cannot listen" in second.stderr and "Traceback" not in second.stderr


@pytest.fixture
def begun(evenhand: Callable[..., Ended], study: Path) -> Path:
    """A study whose database is there."""
    ended = evenhand("annotate", study, "--no-serve")
    assert ended.code == 0, ended.err
    ended.says("Ready.", f"evenhand annotate {study}")
    return study


@pytest.mark.parametrize(
    "flags",
    [["--host", "0.0.0.0"], ["--host", "192.0.2.1"], ["--host", "::"], ["--host", "lab.example.org"]],
)
def test_other_machines_are_let_in_only_on_purpose(
    evenhand: Callable[..., Ended], begun: Path, flags: list[str]
) -> None:
    evenhand("annotate", begun, *flags).refused(
        2, "the URL at which other machines reach the server", "--address http"
    )


@pytest.mark.parametrize(
    "address",
    [
        "judge.example.org",
        "https://x/path",
        "https://a:b@x",
        "https://x?y",
        "https://",
        "http://x:0",
        "https://x:y",
    ],
)
def test_addresses_that_are_none_are_refused(
    evenhand: Callable[..., Ended], begun: Path, address: str
) -> None:
    evenhand("annotate", begun, "--address", address).refused(2, "is not a valid URL of a web server")
    evenhand("annotate", "invite", begun, "--address", address).refused(
        2, "is not a valid URL of a web server"
    )


@pytest.mark.parametrize(
    "arguments, code, told",
    [
        ([], 2, "Missing argument: STUDY"),
        (["no.yaml"], 1, "no.yaml"),
        (["STUDY", "--template", "regard"], 2, "--from"),
        (["STUDY", "--limit", "3"], 2, "--from"),
        (["--from", "runs/x"], 2, "Missing: --template and -o"),
        (
            ["--from", "runs/x"],
            2,
            "--from runs/x --template regard -o STUDY.yaml (one of acute, regard, robbie,",
        ),
        (["--from", "a", "--from", "b", "-o", "s.yaml"], 2, "Missing: --template"),
        (["--from", "a", "--from", "b", "-o", "s.yaml"], 2, "--from a --from b --template regard -o s.yaml"),
        (["--from", "a", "--template", "acute"], 2, "`--from` creates a study file"),
        (["--from", "a", "--template", "acute"], 2, "annotate --from a --template acute -o STUDY.yaml"),
        (["chek", "STUDY"], 2, "Unknown verb: 'chek'. Did you mean 'check'?"),
        (["chats"], 2, "To serve a study: evenhand annotate STUDY.yaml"),
        (["--from", "runs/x", "--template", "regard", "-o", "s.json"], 2, "A study file must end in"),
        (["STUDY", "--from", "runs/x"], 2, "creates a new study file, but the study"),
        (["--from", "runs/x", "--template", "regard", "-o", "STUDY"], 2, "already exists"),
        (["STUDY", "--database", "mysql://x/y"], 2, "requires a local folder, but"),
        (["tiny.sqlite"], 2, "is not a study file"),
        (["invite", "none.yaml"], 1, "none.yaml"),
        (["invite", "other.sqlite"], 2, "The database other.sqlite does not exist"),
        (["export", "STUDY", "-o", "x.xlsx"], 2, ".parquet"),
        (["export", "STUDY", "-o", "tiny.sqlite"], 2, ".parquet"),
        (["backup", "STUDY", "-o", "tiny.sqlite"], 2, "already exists"),
        (["account", "STUDY", "a\tb"], 2, "is not a name for an account"),
        (["invite", "STUDY", "--study", "else", "--address", "http://x"], 2, "--study"),
    ],
)
def test_wrong_calls_are_told_what_is_wrong(
    evenhand: Callable[..., Ended],
    begun: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    told: str,
) -> None:
    read_from(monkeypatch, f"{PASSWORD}\n")
    given = arguments if arguments else ["serve"]
    evenhand("annotate", *(str(begun) if word == "STUDY" else word for word in given)).refused(code, told)


def test_a_study_is_made_of_a_file_and_begun(evenhand: Callable[..., Ended], tmp_path: Path) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text("text\n" + "\n".join(f"Text number {n} is about somebody." for n in range(9)) + "\n")
    made = tmp_path / "made.yaml"
    call = ["annotate", "--from", texts, "--template", "labels", "--limit", "4", "-o", made, "--no-serve"]
    ended = evenhand(*call)
    assert ended.code == 0, ended.err
    ended.says("4 items", "Ready.")
    assert made.with_suffix(".sqlite").exists() and evenhand("annotate", "check", made).code == 0
    before = made.read_text()
    evenhand(*call).refused(2, "already exists")
    assert made.read_text() == before


def test_a_study_without_a_database_says_how_to_begin_one(
    evenhand: Callable[..., Ended], study: Path
) -> None:
    for verb in (
        ["invite", study],
        ["account", study],
        ["export", study, "-o", "x.csv"],
        ["backup", study, "-o", "x"],
    ):
        evenhand("annotate", *verb).refused(2, "does not exist", f"evenhand annotate {study} --no-serve")


def test_invites_without_an_address_ask_for_one(evenhand: Callable[..., Ended], begun: Path) -> None:
    evenhand("annotate", "invite", begun).refused(2, "--address")


def test_invites_are_printed_one_a_line(
    evenhand: Callable[..., Ended], begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evenhand.annotation import open_store
    from evenhand.annotation.store import people

    monkeypatch.setenv("EVENHAND_ANNOTATE_ADDRESS", "https://judge.example.org/")
    ended = evenhand(
        "annotate", "invite", begun, "--number", "3", "--uses", "0", "--note", "n", "--days", "2"
    )
    links = ended.out.split()
    assert len(set(links)) == 3 and all(link.startswith("https://judge.example.org/i/") for link in links)
    store = open_store(begun.with_suffix(".sqlite"))
    made = people.invites(store)
    store.close()
    assert [(one.uses, one.note) for one in made] == [(None, "n")] * 3 and made[0].expires is not None


def read_from(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_password_is_read_from_standard_input_and_never_shown(
    evenhand: Callable[..., Ended], begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import UTC, datetime

    from evenhand.annotation import open_store
    from evenhand.annotation.application.admin.accounts import check_login

    read_from(monkeypatch, f"{PASSWORD}\n")
    ended = evenhand("annotate", "account", begun, "rosa")
    assert ended.code == 0 and PASSWORD not in ended.out + ended.err
    store = open_store(begun.with_suffix(".sqlite"))
    login = check_login(store, "rosa", PASSWORD, datetime.now(UTC))
    store.close()
    assert login is not None and not login.must_choose
    for wrong, told in (
        ("", "No password on standard input"),
        ("short\n", "12 characters"),
        ("aaaaaaaaaaaaaaa\n", "too easy to guess"),
    ):
        read_from(monkeypatch, wrong)
        ended = evenhand("annotate", "account", begun, "rosa")
        ended.refused(2, told)


def test_the_database_is_found_by_flag_environment_or_beside_the_study(
    evenhand: Callable[..., Ended], study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evenhand("annotate", study, "--no-serve", "--database", tmp_path / "flag.db")
    assert (tmp_path / "flag.db").exists()
    monkeypatch.setenv("EVENHAND_ANNOTATE_DATABASE", str(tmp_path / "variable.db"))
    evenhand("annotate", study, "--no-serve")
    assert (tmp_path / "variable.db").exists() and not study.with_suffix(".sqlite").exists()
    ended = evenhand("annotate", "export", study, "-o", tmp_path / "x.csv")
    assert ended.code == 0, ended.err


@pytest.mark.parametrize(
    "address",
    ["postgresql://judge:hunter2@127.0.0.1:1/x", "postgresql://judge@127.0.0.1:1/x?password=hunter2"],
)
def test_a_password_of_a_server_is_never_shown(
    evenhand: Callable[..., Ended], study: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg")
    for arguments in ([study, "--no-serve", "--database", address], ["export", address, "-o", "x.csv"]):
        ended = evenhand("annotate", *arguments)
        assert ended.code == 1 and "hunter2" not in ended.out + ended.err
        ended.says("Cannot open the database")


def test_a_file_that_is_changed_before_anybody_comes_is_taken_as_it_is(
    evenhand: Callable[..., Ended], begun: Path
) -> None:
    from evenhand.annotation import open_store

    begun.write_text(STUDY.replace("What do these", "So what do these") + "consent: {text: Please read.}\n")
    assert evenhand("annotate", begun, "--no-serve").code == 0
    store = open_store(begun.with_suffix(".sqlite"))
    assert (store.study.title, store.study.consent.text) == ("So what do these texts say?", "Please read.")
    store.close()


def test_a_study_that_is_changed_under_people_is_refused_with_what_differs_and_what_may(
    evenhand: Callable[..., Ended], begun: Path
) -> None:
    from datetime import UTC, datetime

    from evenhand.annotation import open_store
    from evenhand.annotation.store import people

    store = open_store(begun.with_suffix(".sqlite"))
    now = datetime.now(UTC)
    people.arrive(store, people.make_invites(store, 1, now)[0].id, now)
    store.close()
    begun.write_text(STUDY.replace("How does it sound?", "How does it read?"))
    evenhand("annotate", begun, "--no-serve").refused(
        2, "questions", "You can still add items, and change the text, code and", "another `name`"
    )
    begun.write_text(STUDY + "seed: 3\n")
    evenhand("annotate", begun, "--no-serve").refused(2, "seed")
    begun.write_text(STUDY + "completion: {code: C0FFEE}\n")
    assert evenhand("annotate", begun, "--no-serve").code == 0


def test_without_the_extra_the_message_names_it(tmp_path: Path, study: Path) -> None:
    code = (
        "import sys\n"
        "from importlib.machinery import PathFinder\n"
        "class Without(PathFinder):\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n"
        "        hidden = name.split('.')[0] in ('fastapi', 'sqlalchemy', 'argon2')\n"
        "        return None if hidden else PathFinder.find_spec(name, path, target)\n"
        "sys.meta_path[sys.meta_path.index(PathFinder)] = Without\n"
        "from evenhand.__main__ import main\n"
        f"sys.argv = ['evenhand', 'annotate', {str(study)!r}]\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2 and "pip install 'evenhand[annotate]'" in ended.stderr, ended.stderr
    assert "Traceback" not in ended.stderr


def test_help_tells_what_may_stand_in_the_place_of_a_verb_and_cuts_nothing(
    evenhand: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = evenhand("annotate", "--help")
    told.says(
        "annotate STUDY.yaml", "--from RUN --template acute -o STUDY.yaml", "--no-serve", "serve --help"
    )
    assert "\n evenhand annotate STUDY.yaml  " in told.out  # a line each
    for verb in ("serve", "check", "invite", "account", "backup", "export", "analyse"):
        shown = evenhand("annotate", verb, "--help")
        assert shown.code == 0 and "…" not in shown.out, shown.out
    evenhand("annotate", "serve", "--help").says("EVENHAND_ANNOTATE_DATABASE")


def test_help_stays_light() -> None:
    code = (
        "import sys\nfrom evenhand.cli.app import app\nimport typer.main\n"
        "typer.main.get_command(app)\n"
        "print([name for name in ('fastapi', 'sqlalchemy', 'argon2', 'uvicorn', 'alembic') if name in sys.modules])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout.strip() == "[]"
