"""How long the pages of the annotation application take with 10,000 items of which each was judged three times.

    python perf/annotation_pages.py [--items 10000] [--requests 100] [--people 0] [--database postgresql://...]

The application runs in this process and is asked through ASGI, so that what is measured is the application and its
database and not a network. A part of the items is left open, so that people can judge. --people: how many judge at
the same time while the admin looks.
"""

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import numpy as np
from sqlalchemy import insert, select, update

from evenhand.annotation import Store, begin_study
from evenhand.annotation.application import application, invite_link, set_password
from evenhand.annotation.definition import Study
from evenhand.annotation.store import people, tables

ADDRESS = "http://judge.test"
EACH, PER_UNIT, OPEN = 3, 10, 0.02
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
                {"id": "clear", "kind": "likert", "text": "How clear is it?", "low": 1, "high": 7},
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


def filled(store: Store, begun: datetime) -> None:
    """Write what people said straight into the tables: all but a part of the items have their votes."""
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
        done = every[: int(len(every) * (1 - OPEN))]
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


class Browser:
    """Asks, and keeps how long each answer took, by page."""

    def __init__(self, app: object, took: dict[str, list[float]], address: str):
        transport = httpx.ASGITransport(app=app, client=(address, 1))
        self.client = httpx.AsyncClient(transport=transport, base_url=ADDRESS, headers={"Origin": ADDRESS})
        self.took = took

    async def ask(self, page: str, path: str, /, **fields: str) -> httpx.Response:
        start = time.perf_counter()
        answer = await (self.client.post(path, data=fields) if fields else self.client.get(path))
        self.took.setdefault(page, []).append(time.perf_counter() - start)
        if answer.status_code not in (200, 303):
            sys.exit(f"{page}: {answer.status_code}\n{answer.text}")
        return answer


def token(page: httpx.Response) -> str:
    return re.search(r'name="form_token" value="([^"]+)"', page.text)[1]


async def judging(browser: Browser, link: str, until: Callable[[], bool]) -> None:
    """One person: comes, agrees, judges, and goes on with another unit until told to stop."""
    path = link.removeprefix(ADDRESS)
    page = await browser.ask("person: link", path)
    await browser.ask("person: arrive (POST)", path, form_token=token(page))
    page = await browser.ask("person: consent", "/study")
    await browser.ask("person: consent (POST)", "/study/consent", form_token=token(page))
    while not until():
        page = await browser.ask("person: item", "/study")
        if shown := re.search(r'name="presentation" value="([^"]+)"', page.text):
            said = {"better": "left", "better-reason": SAID, "clear": "4", "presentation": shown[1]}
            await browser.ask("person: answer (POST)", "/study/answer", form_token=token(page), **said)
        elif "Take another set" in page.text:
            await browser.ask("person: next (POST)", "/study/next", form_token=token(page))
        else:
            return


async def looking(browser: Browser, requests: int) -> None:
    """The admin: logs in and looks at every page again and again."""
    page = await browser.ask("admin: login", "/admin/login")
    entered = dict(form_token=token(page), name="rosa", password=PASSWORD)
    await browser.ask("admin: login (POST)", "/admin/login", **entered)
    names = re.findall(
        r'href="/admin/people/([^"?]+)"', (await browser.ask("admin: people", "/admin/people")).text
    )
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
    for _ in range(requests):
        for name, path in pages.items():
            await browser.ask(name, path)
    for kind in ("jsonl", "csv"):
        page = await browser.ask("admin: export", "/admin/export")
        await browser.ask(f"download, {kind} (POST)", "/admin/export", form_token=token(page), kind=kind)


async def measured(store: Store, requests: int, together: int) -> dict[str, list[float]]:
    from evenhand.annotation.application.protection import Limits, Rate

    often = Rate(10**6, 10**6)
    app = application(store, address=ADDRESS, limits=Limits(posts_of_session=often, posts_of_address=often))
    invite = people.make_invites(store, 1, datetime.now(UTC), uses=None)[0]
    link = invite_link(store, ADDRESS, invite.id)
    took: dict[str, list[float]] = {}
    if together:
        over = False
        crowd = [
            asyncio.create_task(judging(Browser(app, took, f"192.0.2.{n}"), link, lambda: over))
            for n in range(together)
        ]
        await looking(Browser(app, took, "198.51.100.1"), requests)
        over = True
        await asyncio.gather(*crowd)
    else:
        await looking(Browser(app, took, "198.51.100.1"), requests)
        for n in range(max(1, requests // 20)):
            left = iter(range(12))
            await judging(
                Browser(app, took, f"192.0.2.{n}"), link, lambda left=left: next(left, None) is None
            )
    return took


def main() -> None:
    """Fill a database, ask for every page, print how long answers took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--people", type=int, default=0)
    parser.add_argument("--database")
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        store = begin_study(asked.database or Path(folder) / "large.sqlite", study(asked.items))
        begun = time.perf_counter() - start
        filled(store, datetime.now(UTC) - timedelta(days=2))
        set_password(store, "rosa", PASSWORD, "perf", datetime.now(UTC))
        print(
            f"{asked.items:,} items written in {begun:.1f} s; with votes in {time.perf_counter() - start:.1f} s"
        )
        took = asyncio.run(measured(store, asked.requests, asked.people))
        store.close()
    rows = {}
    print(f"{'page':32} {'asked':>6} {'p50 ms':>8} {'p95 ms':>8} {'most ms':>8}")
    for name, seconds in sorted(took.items()):
        p50, p95, most = (1000 * float(np.quantile(seconds, share)) for share in (0.5, 0.95, 1))
        rows[name] = {"asked": len(seconds), "p50_ms": p50, "p95_ms": p95, "most_ms": most}
        print(f"{name:32} {len(seconds):6} {p50:8.1f} {p95:8.1f} {most:8.1f}")
    if asked.output:
        asked.output.write_text(
            json.dumps({"items": asked.items, "people": asked.people, "pages": rows}, indent=1)
        )


if __name__ == "__main__":
    main()
