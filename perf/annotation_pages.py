"""Measure the response times of the annotation application with 10,000 items, each judged three times.

    python perf/annotation_pages.py [--items 10000] [--requests 100] [--arrivals 200] [--database postgresql://...]
    python perf/annotation_pages.py --people 20 [--think 2] [--seconds 60]

Sequential requests (the first line): the application runs in this process and is called through ASGI. This measures the
application and its database, not a network. Each time is shown with the CPU time of the whole
process, including the share of this script. --arrivals: number of people who arrive, consent, judge a whole set, take
another and see its first item.

--people: number of browsers (each with a thread and an address) that call a server in a separate process through
a socket, for --seconds. Meanwhile the admin opens every page and downloads exports. --think: mean of the exponentially
distributed pause before each answer. With 0, requests are sent as fast as the server answers. Times then show the
length of the queue, and the result is the number of pages per second. [download]: while the admin downloaded.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import numpy as np
import uvicorn
from sqlalchemy import insert, select, update

from evenhand.annotation import Store, begin_study, open_store
from evenhand.annotation.application import application, invite_link, set_password
from evenhand.annotation.application.patience import PatientProtocol
from evenhand.annotation.application.protection import Limits, Rate
from evenhand.annotation.application.serving import listen, steady
from evenhand.annotation.definition import Study
from evenhand.annotation.store import people, tables

ADDRESS = "http://judge.test"
EACH, PER_UNIT = 3, 10
PASSWORD = "violets on a windowsill"
SAID = "I have a dog and two cats, and on Sundays we all walk to the lake. What do you do when it rains for a week? "


def study(items: int) -> Study:
    """Pairs of conversations of six turns, with a choice and its reason, and a rating."""

    def conversation(side: str, number: int) -> dict[str, object]:
        turns = [{"speaker": f"Speaker {turn % 2 + 1}", "text": f"{number} {SAID}"} for turn in range(6)]
        return {"id": f"{side}-{number}", "model": f"model-{side}", "speaker": "Speaker 1", "turns": turns}

    return Study.model_validate(
        {
            "evenhand_study": 1,
            "name": "large",
            "title": "Who would you rather talk to?",
            "questions": [
                {"id": "better", "kind": "pair", "text": "Who would you rather talk to?", "reason": {}},
                {
                    "id": "clear",
                    "kind": "likert",
                    "text": "How clear is it?",
                    "low": 1,
                    "high": 7,
                    "labels": ["Not at all", "Very"],
                },
            ],
            "items": [
                {"id": f"item-{n}", "pair": [conversation("a", n), conversation("b", n)]}
                for n in range(items)
            ],
            "rules": [{"rule": "too_fast"}, {"rule": "constant_side"}, {"rule": "copied_reasons"}],
            "assignment": {
                "annotations_per_item": EACH,
                "items_per_unit": PER_UNIT,
                "units_per_person": 1000,
            },
        }
    )


def filled(store: Store, begun: datetime, left_open: float) -> None:
    """Write what people said straight into the tables. left_open: the share of items that have no votes."""
    draw = random.Random(0)
    invite = people.make_invites(store, 1, begun, uses=None)[0]

    def write(connection) -> None:
        t = tables
        key = connection.execute(select(t.invites.c.id).where(t.invites.c.token == invite.id)).scalar_one()
        every = (
            connection.execute(select(t.items.c.id).where(t.items.c.role == "real").order_by(t.items.c.id))
            .scalars()
            .all()
        )
        done = every[: int(len(every) * (1 - left_open))]
        shown = [(item, slot) for slot in range(EACH) for item in done]
        who = len(shown) // (3 * PER_UNIT) + 1  # three units each
        rows = [
            dict(
                id=n,
                study_id=store.key,
                invite_id=key,
                pseudonym=f"p-{n:010}",
                number=n,
                state="working",
                came_at=begun,
                seen_at=begun,
                agreed_at=begun,
                passed_at=begun,
                units=3,
                votes=30,
                broken=[],
                exempt=False,
                left_out=False,
                note="",
            )
            for n in range(1, who + 1)
        ]
        connection.execute(insert(t.persons), rows)
        units, presentations, votes = [], [], []
        for place, (item, slot) in enumerate(shown):
            unit, at = place // PER_UNIT + 1, begun + timedelta(seconds=place)
            person = (unit - 1) % who + 1
            if place % PER_UNIT == 0:
                units.append(
                    dict(
                        id=unit,
                        study_id=store.key,
                        person_id=person,
                        token=f"u{unit}",
                        kind="work",
                        number=(unit - 1) // who + 1,
                        state="complete",
                        size=PER_UNIT,
                        begun_at=at,
                        until=at,
                        complete_at=at,
                        read_at=at,
                        surveyed=True,
                    )
                )
            presentations.append(
                dict(
                    id=place + 1,
                    unit_id=unit,
                    person_id=person,
                    item_id=item,
                    token=f"t{place}",
                    role="real",
                    position=place % PER_UNIT,
                    left=draw.choice("ab"),
                    questions=["better", "clear"],
                    slot=slot,
                    state="answered",
                    shown_at=at - timedelta(seconds=9),
                    answered_at=at,
                    seconds=9.0 + draw.random(),
                )
            )
            votes.append(
                dict(presentation_id=place + 1, question="better", answer=draw.choice("aab"), reason=SAID)
            )
            votes.append(
                dict(presentation_id=place + 1, question="clear", answer=str(draw.randint(1, 7)), reason=None)
            )
        for table, made in ((t.units, units), (t.presentations, presentations), (t.votes, votes)):
            for start in range(0, len(made), 5000):
                connection.execute(insert(table), made[start : start + 5000])
        connection.execute(
            update(t.items)
            .where(t.items.c.role == "real", t.items.c.id <= done[-1])
            .values(done=EACH, taken=EACH)
        )
        connection.execute(update(t.studies).values(arrived=who))
        log = dict(study_id=store.key, at=begun, actor="rosa", action="looked", subject="", detail="")
        connection.execute(insert(t.audit), [log] * 3000)

    store.transactions.write(write)


LAST = f"<h1>{PER_UNIT} of {PER_UNIT}</h1>"
OFTEN = Rate(10**6, 10**6)
UNLIMITED = Limits(posts_of_session=OFTEN, posts_of_address=OFTEN, arrivals=OFTEN)
Asked = Iterator[tuple[str, str, dict[str, str]]]
"""A page's name, its path, and the fields of a form; what comes back is sent into the generator."""


def token(page: httpx.Response) -> str:
    return re.search(r'name="form_token" value="([^"]+)"', page.text)[1]


def judging(link: str, sets: int) -> Asked:
    """Simulate one person who arrives, consents, judges a number of sets, and opens the first item of another."""
    page = yield "person: link", link, {}
    opened = re.search(r'name="page" value="([^"]+)"', page.text)[1]
    yield "person: arrive (POST)", link, {"form_token": token(page), "page": opened}
    page = yield "person: consent", "/study", {}
    yield "person: consent (POST)", "/study/consent", {"form_token": token(page)}
    done, name = 0, "person: first item"
    while True:
        page = yield name, "/study", {}
        name = "person: item"
        if "Take another set" in page.text:
            yield "person: next set (POST)", "/study/next", {"form_token": token(page)}
            page = yield "person: first item of next set", "/study", {}
            done += 1
            if done == sets:
                return
        shown = re.search(r'name="presentation" value="([^"]+)"', page.text)
        if not shown:
            return  # nothing is left
        said = {"better": "left", "better-reason": SAID, "clear": "4", "presentation": shown[1]}
        form = {"form_token": token(page), **said}
        yield (
            "person: answer" + (", last of a set" if LAST in page.text else "") + " (POST)",
            "/study/answer",
            form,
        )


def looking(rounds: int, downloads: int) -> Asked:
    """The admin: logs in and looks at every page again and again."""
    page = yield "admin: login", "/admin/login", {}
    entered = {"form_token": token(page), "name": "rosa", "password": PASSWORD}
    yield "admin: login (POST)", "/admin/login", entered
    page = yield "admin: people", "/admin/people", {}
    names = re.findall(r'href="/admin/people/([^"?]+)"', page.text)
    pages = {
        "admin: overview": "/admin",
        "admin: people": "/admin/people",
        "admin: people, last part": "/admin/people?page=19",
        "admin: people, searched": "/admin/people?search=00077",
        "admin: person": f"/admin/people/{names[-1]}",
        "admin: links": "/admin/links",
        "admin: log": "/admin/log",
        "admin: log, last part": "/admin/log?page=30",
        "admin: export": "/admin/export",
        "admin: account": "/admin/account",
    }
    for _ in range(rounds):
        for name, path in pages.items():
            yield name, path, {}
    for kind in ("jsonl", "csv") * downloads:
        page = yield "admin: export", "/admin/export", {}
        yield f"download, {kind} (POST)", "/admin/export", {"form_token": token(page), "kind": kind}


class Times:
    """Seconds and CPU seconds of each page, from any thread."""

    def __init__(self) -> None:
        self.took: dict[str, list[tuple[float, float]]] = {}
        self.lock = threading.Lock()

    def add(self, page: str, seconds: float, cpu: float) -> None:
        with self.lock:
            self.took.setdefault(page, []).append((seconds, cpu))

    def table(self) -> dict[str, dict[str, float]]:
        rows = {}
        print(
            f"{'page':32} {'asked':>6} {'p50 ms':>8} {'p95 ms':>8} {'most ms':>8} {'CPU p50':>8} {'CPU p95':>8}"
        )
        for name, both in sorted(self.took.items()):
            wall, cpu = 1000 * np.array(both).T
            p50, p95, most = np.quantile(wall, (0.5, 0.95, 1))
            low, high = np.quantile(cpu, (0.5, 0.95))
            rows[name] = dict(
                asked=len(both), p50_ms=p50, p95_ms=p95, most_ms=most, cpu_p50_ms=low, cpu_p95_ms=high
            )
            print(f"{name:32} {len(both):6} {p50:8.1f} {p95:8.1f} {most:8.1f} {low:8.1f} {high:8.1f}")
        return rows


def refused(page: str, answer: httpx.Response) -> bool:
    if answer.status_code in (200, 303):
        return False
    if answer.status_code == 503:
        return True
    sys.exit(f"{page}: {answer.status_code}\n{answer.text}")


async def in_turn(app: object, asked: Asked, times: Times, address: str) -> None:
    """Ask through ASGI, one page after another."""
    transport = httpx.ASGITransport(app=app, client=(address, 1))
    async with httpx.AsyncClient(
        transport=transport, base_url=ADDRESS, headers={"Origin": ADDRESS}
    ) as client:
        answer = None
        while True:
            try:
                page, path, fields = asked.send(answer)
            except StopIteration:
                return
            start, cpu = time.perf_counter(), time.process_time()
            answer = await (client.post(path, data=fields) if fields else client.get(path))
            times.add(page, time.perf_counter() - start, time.process_time() - cpu)
            if refused(page, answer):
                sys.exit(f"{page}: busy, although no other client calls it")


async def one_after_another(store: Store, rounds: int, arrivals: int) -> Times:
    app, times = application(store, address=ADDRESS, limits=UNLIMITED), Times()
    link = a_link(store, ADDRESS)
    await in_turn(app, looking(rounds, 1), times, "198.51.100.1")
    for number in range(arrivals):
        await in_turn(app, judging(link, 1), times, f"192.0.{number // 250}.{number % 250}")
    return times


def a_link(store: Store, address: str) -> str:
    invite = people.make_invites(store, 1, datetime.now(UTC), uses=None)[0]
    return invite_link(store, address, invite.id).removeprefix(address)


def served(database: str, port: multiprocessing.Queue) -> None:
    """A server as `evenhand annotate` starts it, but for the limits."""
    listening = listen("127.0.0.1", 0)
    number = listening.getsockname()[1]
    app = application(
        open_store(database), address=f"http://127.0.0.1:{number}", proxied=True, limits=UNLIMITED
    )
    how = dict(http=PatientProtocol, ws="none", log_level="warning", access_log=False, timeout_keep_alive=15)
    server = uvicorn.Server(uvicorn.Config(app, **how))
    port.put(number)
    with steady():
        server.run(sockets=[listening])


def at_once(database: str, store: Store, persons: int, think: float, seconds: float) -> tuple[Times, float]:
    """Threads that ask a server through sockets; times, and pages answered a second."""
    times, over, failed, downloading = Times(), threading.Event(), [], threading.Event()
    starting = multiprocessing.get_context("spawn")
    port = starting.Queue()
    server = starting.Process(target=served, args=(database, port), daemon=True)
    server.start()
    address = f"http://127.0.0.1:{port.get(timeout=60)}"
    link = a_link(store, address)

    def browse(asked_of: Callable[[], Asked], name: str, pause: float) -> None:
        draw = random.Random(name)
        headers = {"Origin": address, "X-Forwarded-For": name}
        try:
            while not over.is_set():
                with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
                    asked, answer = asked_of(), None
                    while not over.is_set():
                        try:
                            page, path, fields = asked.send(answer)
                        except StopIteration:
                            break
                        over.wait(draw.expovariate(1 / pause) if pause and fields else 0)
                        start = time.perf_counter()
                        if downloads := page.startswith("download"):
                            downloading.set()
                        elif downloading.is_set():
                            page += " [download]"
                        while True:
                            try:
                                answer = client.post(path, data=fields) if fields else client.get(path)
                            except (
                                httpx.ReadError
                            ):  # a connection that was idle for long is closed; browsers try again
                                times.add("connection closed while idle", time.perf_counter() - start, 0.0)
                                continue
                            if not refused(page, answer):
                                break
                            times.add("refused: busy (503)", time.perf_counter() - start, 0.0)
                            over.wait(0.5)
                        times.add(page, time.perf_counter() - start, 0.0)
                        if downloads:
                            downloading.clear()
        except (SystemExit, httpx.HTTPError) as error:
            failed.append(f"{name}: {error!r}")

    threads = [
        threading.Thread(target=browse, args=(lambda: judging(link, 3), f"192.0.{n // 250}.{n % 250}", think))
        for n in range(persons)
    ]
    threads.append(
        threading.Thread(target=browse, args=(lambda: looking(3, 1), "198.51.100.1", think and 0.5))
    )
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    over.set()
    for thread in threads:
        thread.join(60)
    lasted = time.perf_counter() - start
    server.terminate()
    server.join(10)
    if failed:
        sys.exit("\n".join(failed[:5]))
    return times, sum(map(len, times.took.values())) / lasted


def main() -> None:
    """Fill a database, ask for every page, print how long answers took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--open", type=float, default=0.2, help="share of items without votes")
    parser.add_argument("--requests", type=int, default=100, help="of each of the admin's pages")
    parser.add_argument("--arrivals", type=int, default=200)
    parser.add_argument("--people", type=int, default=0)
    parser.add_argument("--think", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--database")
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        database = asked.database or str(Path(folder) / "large.sqlite")
        store = begin_study(database, study(asked.items))
        begun = time.perf_counter() - start
        filled(store, datetime.now(UTC) - timedelta(days=2), asked.open)
        set_password(store, "rosa", PASSWORD, "perf", datetime.now(UTC))
        print(
            f"{asked.items:,} items written in {begun:.1f} s; with votes in {time.perf_counter() - start:.1f} s"
        )
        if asked.people:
            times, each_second = at_once(database, store, asked.people, asked.think, asked.seconds)
            print(f"{asked.people} people at once: {each_second:.0f} pages a second")
        else:
            with steady():
                times = asyncio.run(one_after_another(store, asked.requests, asked.arrivals))
        store.close()
    rows = times.table()
    if asked.output:
        settings = {"items": asked.items, "open": asked.open, "people": asked.people, "think": asked.think}
        asked.output.write_text(json.dumps(settings | {"pages": rows}, indent=1))


if __name__ == "__main__":
    main()
