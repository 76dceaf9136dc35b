"""Simulate many annotators of one study, who use its forms while the server is killed repeatedly.

    python perf/annotation_load.py --persons 200 --seconds 300 --kills 10
    python perf/annotation_load.py --persons 200 --seconds 300 --kills 10 --database postgresql://USER@HOST/EMPTY

The script records every answer that the server acknowledged (with a redirect) and compares the records with an export.
No answer may be missing or occur twice. No item may have more judgements than requested, and no annotator may see a
conversation twice. The script prints the results and the response times of pages. It exits with 1 if a condition fails.
"""

import argparse
import asyncio
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import httpx
import numpy as np
import polars as pl

GOES_ON = ("/i/", "/study/consent", "/study/answer", "/study/correction", "/study/survey", "/study/next")
"""Where the forms lead that bring a person on; others leave or withdraw."""
PERSONS, SECONDS, KILLS = 200, 300.0, 10
PATIENCE = 90.0
"""Seconds that the last persons have to end after the last kill."""


@dataclass
class Form:
    """A form as a browser would have it."""

    action: str
    fixed: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)


class Forms(HTMLParser):
    """All forms of a page, and its links to nowhere else."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = Form(given.get("action", ""))
            self.forms.append(self._form)
        form = self._form
        if form is None:
            return
        name = given.get("name", "")
        if tag == "input" and name:
            if given.get("type") in ("radio", "checkbox"):
                form.choices.setdefault(name, []).append(given.get("value", "on"))
            elif given.get("type") == "hidden":
                form.fixed[name] = given.get("value", "")
            else:
                form.texts.append(name)
        elif tag == "textarea" and name:
            form.texts.append(name)
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and given.get("value"):
            form.choices.setdefault(self._select, []).append(given["value"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = None


def next_form(page: str, at: str) -> Form | None:
    """The form that brings a person on, of the page at a path; None on a last page."""
    parser = Forms()
    parser.feed(page)
    for form in parser.forms:
        form.action = form.action or at
    return next((form for form in parser.forms if form.action.startswith(GOES_ON)), None)


def filled(form: Form, draw: random.Random) -> dict[str, str]:
    """Any valid answer."""
    chosen = {name: draw.choice(values) for name, values in form.choices.items()}
    words = " ".join(draw.choices(["because", "it", "sounds", "more", "like", "talk", "to", "me"], k=6))
    return form.fixed | chosen | {name: words for name in form.texts}


@dataclass
class Told:
    """What the crowd saw."""

    acknowledged: Counter[str] = field(default_factory=Counter)
    """Answers that the server took, by presentation."""
    seconds: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    refused: int = 0
    """Connections that failed while the server was down."""
    ended: int = 0


async def person(number: int, address: str, link: str, told: Told, until: float, think: float) -> None:
    """One person from the invite to the last page; tries again while the server is down."""
    draw = random.Random(number)
    headers = {
        "X-Forwarded-For": f"10.{number // 65536}.{number // 256 % 256}.{number % 256}",
        "X-Forwarded-Proto": "http",
    }
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=30) as client:
        await asyncio.sleep(draw.random() * 3)
        where = link
        page, at = None, ""
        while time.monotonic() < until:
            try:
                begun = time.perf_counter()
                if page is None:
                    answer = await client.get(where, follow_redirects=True)
                    told.seconds.setdefault("GET", []).append(time.perf_counter() - begun)
                    told.statuses[answer.status_code] += 1
                    if answer.status_code != 200:
                        await asyncio.sleep(0.5 + draw.random())
                        continue
                    page, at = answer.text, answer.url.path
                form = next_form(page, at)
                if form is None:
                    told.ended += 1
                    return
                await asyncio.sleep(think * (0.5 + draw.random()))
                data = filled(form, draw)
                begun = time.perf_counter()
                answer = await client.post(
                    urljoin(address, form.action), data=data, headers={"Origin": address}
                )
                told.seconds.setdefault("POST", []).append(time.perf_counter() - begun)
                told.statuses[answer.status_code] += 1
                if answer.status_code == 303 and form.action.startswith("/study/answer"):
                    told.acknowledged[data["presentation"]] += 1
                if draw.random() < 0.1 and answer.status_code == 303:  # somebody presses twice
                    again = await client.post(
                        urljoin(address, form.action), data=data, headers={"Origin": address}
                    )
                    told.statuses[again.status_code] += 1
                where, page = "/study", None
                if answer.status_code not in (303, 422):
                    await asyncio.sleep(0.5 + draw.random())
            except httpx.HTTPError:
                told.refused += 1
                page = None
                await asyncio.sleep(0.2 + draw.random() / 2)


class Server:
    """The command itself, which may be killed."""

    def __init__(self, study: Path, database: str, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.command = [
            *(
                sys.executable,
                "-m",
                "evenhand",
                "annotate",
                str(study),
                "--database",
                database,
                "--port",
                str(port),
            ),
            *("--address", self.address, "--proxied"),
        ]
        self.log = study.with_suffix(".log").open("ab")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                sys.exit(
                    f"The server ended with {self.process.returncode}:\n{Path(self.log.name).read_text()[-3000:]}"
                )
            try:
                if httpx.get(f"{self.address}/health", timeout=2).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.1)
        sys.exit(f"The server did not answer in a minute:\n{Path(self.log.name).read_text()[-3000:]}")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def study_file(
    folder: Path, items: int, per_item: int, per_unit: int, units: int, lease_minutes: float
) -> Path:
    """Return a study of pairs in which each conversation is in two items."""
    from evenhand.annotation import Study
    from evenhand.annotation.definition import study_yaml

    def conversation(side: str, number: int) -> dict[str, object]:
        turns = [{"speaker": s, "text": f"{side}{number}: {s} speaks of the weather."} for s in ("A", "B")]
        return {"id": f"{side}{number}", "turns": turns, "speaker": "B", "model": side}

    pairs = [
        {"id": f"item-{n}", "pair": [conversation("one", n // 2), conversation("other", n)]}
        for n in range(items)
    ]
    study = Study.model_validate(
        {
            "evenhand_study": 1,
            "name": "crowd",
            "title": "Which would you rather talk to?",
            "questions": [
                {"id": "preference", "kind": "pair", "text": "Which one?", "reason": {"minimum": 5}},
                {"id": "human", "kind": "pair", "text": "Which sounds more human?", "tie": "Both"},
            ],
            "items": pairs,
            "rules": [],
            "assignment": {
                "annotations_per_item": per_item,
                "items_per_unit": per_unit,
                "units_per_person": units,
                "lease_minutes": lease_minutes,
            },
            "survey": [{"kind": "scale", "id": "sdo", "use": "sdo7", "draw": 2}],
        }
    )
    path = folder / "crowd.yaml"
    path.write_text(study_yaml(study), encoding="utf-8")
    return path


async def kill_at_times(server: Server, kills: int, seconds: float, draw: random.Random) -> None:
    times = sorted(draw.uniform(0.05, 0.95) * seconds for _ in range(kills))
    begun = time.monotonic()
    for when in times:
        await asyncio.sleep(max(0.0, when - (time.monotonic() - begun)))
        server.kill()
        await asyncio.to_thread(server.start)


async def crowd(
    server: Server, links: list[str], seconds: float, kills: int, think: float, seed: int
) -> Told:
    """Everybody at once, and the kills between."""
    told = Told()
    until = time.monotonic() + seconds + PATIENCE
    people = [
        asyncio.create_task(person(n, server.address, link, told, until, think))
        for n, link in enumerate(links)
    ]
    await kill_at_times(server, kills, seconds, random.Random(seed))
    await asyncio.gather(*people)
    return told


def broken_promises(told: Told, votes: pl.DataFrame, wanted: int) -> list[str]:
    """Return the differences between an export and the acknowledgements that the annotators received."""
    real = votes.filter(pl.col("role") == "real", pl.col("answer").is_not_null())
    problems = []
    stored = Counter(real["presentation"].to_list())
    questions = real["question"].n_unique()
    if lost := [key for key in told.acknowledged if key not in stored]:
        problems.append(f"{len(lost)} acknowledged answers are not in the export")
    if twice := [key for key, times in stored.items() if times != questions]:
        problems.append(f"{len(twice)} presentations have not one row a question")
    by_item = real.filter(question=real["question"][0]).group_by("item").len()
    if (over := by_item.filter(pl.col("len") > wanted)).height:
        problems.append(f"{over.height} items have more than {wanted} votes")
    seen = pl.concat(
        [real.select("person", "presentation", c) for c in (pl.col("a"), pl.col("b").alias("a"))]
    ).unique()
    if (again := seen.group_by("person", "a").len().filter(pl.col("len") > 1)).height:
        problems.append(f"{again.height} times a person saw a conversation twice")
    people = real.group_by("person", "item").agg(pl.col("presentation").n_unique())
    if (repeated := people.filter(pl.col("presentation") > 1)).height:
        problems.append(f"{repeated.height} times a person judged an item twice")
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--persons", type=int, default=PERSONS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--items", type=int, default=None, help="default: as many as the persons can fill")
    parser.add_argument("--per-item", type=int, default=3)
    parser.add_argument("--per-unit", type=int, default=5)
    parser.add_argument("--units", type=int, default=3, help="of each person")
    parser.add_argument("--think", type=float, default=None, help="seconds a page; default: fills the time")
    parser.add_argument("--database", help="default: a SQLite file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="where the numbers go, as JSON")
    given = parser.parse_args()
    items = given.items or max(20, given.persons * given.units * given.per_unit // given.per_item)
    think = (
        given.think
        if given.think is not None
        else given.seconds / (given.units * (given.per_unit + 2) + 2) * 0.8
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study = study_file(folder, items, given.per_item, given.per_unit, given.units, 2.0)
        server = Server(study, given.database or str(folder / "crowd.sqlite"), free_port())
        server.start()
        links = invite_links(study, server, given.persons)
        begun = time.monotonic()
        told = asyncio.run(crowd(server, links, given.seconds, given.kills, think, given.seed))
        spent = time.monotonic() - begun
        server.stop()
        votes = exported(study, server, folder)
    problems = broken_promises(told, votes, given.per_item)
    real = votes.filter(role="real", question="preference")
    numbers = {
        "persons": given.persons,
        "ended": told.ended,
        "kills": given.kills,
        "seconds": round(spent, 1),
        "items": items,
        "wanted": items * given.per_item,
        "votes": real.height,
        "acknowledged": len(told.acknowledged),
        "connections_lost": told.refused,
        "statuses": {str(code): times for code, times in sorted(told.statuses.items())},
        "milliseconds": {
            kind: {f"p{q}": round(1000 * float(np.percentile(times, q)), 1) for q in (50, 95)}
            for kind, times in told.seconds.items()
        },
        "broken_promises": problems,
    }
    print(json.dumps(numbers, indent=1))
    if given.output:
        given.output.write_text(json.dumps(numbers, indent=1) + "\n")
    sys.exit(1 if problems or not told.acknowledged else 0)


def invite_links(study: Path, server: Server, number: int) -> list[str]:
    database = server.command[server.command.index("--database") + 1]
    command = [
        *(sys.executable, "-m", "evenhand", "annotate", "invite", str(study), "--database", database),
        *("--number", str(number), "--address", server.address),
    ]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.strip() for line in printed.splitlines() if "/i/" in line]


def exported(study: Path, server: Server, folder: Path) -> pl.DataFrame:
    from evenhand.annotation import read_export

    database = server.command[server.command.index("--database") + 1]
    file = folder / "votes.jsonl"
    command = [
        sys.executable,
        "-m",
        "evenhand",
        "annotate",
        "export",
        str(study),
        "--database",
        database,
        "-o",
        str(file),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return read_export(file).votes


if __name__ == "__main__":
    main()
