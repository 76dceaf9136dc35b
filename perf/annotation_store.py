"""How quick the database of annotation is: 10,000 items x 3 annotations, asked by 200 persons in turn.

    python perf/annotation_store.py                                  # SQLite in a temporary folder; about 3 minutes.
    python perf/annotation_store.py --postgres postgresql://USER@HOST/EMPTY_DATABASE

Each person answers units of ten until all is given out or `--seconds` are over; then the votes that are missing are
written as these are, without being timed, and the export of all of them is. Every call is a transaction that is on the
disk when it returns, so that a slow disk shows.
"""

import argparse
import json
import platform
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

ITEMS, ANNOTATIONS, PERSONS, UNIT = 10_000, 3, 200, 10


def study():
    """Pairs of short conversations, each its own."""
    from evenhand.annotation.definition import Study

    def conversation(name):
        turns = [
            {"speaker": "person", "text": "Hi, how are you?"},
            {"speaker": "model", "text": f"I am {name}."},
        ]
        return {"id": name, "turns": turns, "speaker": "model", "model": name[0]}

    return Study.model_validate(
        {
            "evenhand_study": 1,
            "name": "speed",
            "title": "Speed",
            "questions": [{"kind": "pair", "id": "who", "text": "Who would you rather talk to?"}],
            "items": [
                {
                    "id": f"item-{n}",
                    "pair": [conversation(f"a-{n}"), conversation(f"b-{n}")],
                    "groups": {"n": n},
                }
                for n in range(ITEMS)
            ],
            "rules": [{"rule": "too_fast", "action": "flag"}],
            "assignment": {
                "annotations_per_item": ANNOTATIONS,
                "items_per_unit": UNIT,
                "units_per_person": ITEMS,
            },
        }
    )


def measured(address, seconds, full):
    """Milliseconds of each kind of call, and seconds of beginning, progress and export."""
    from evenhand.annotation.definition import Answer
    from evenhand.annotation.store import ShowItem, UnitDone, administration, begin_study, people, sittings

    clock = time.perf_counter
    start = clock()
    store = begin_study(address, study())
    found = {"begin_seconds": clock() - start}
    now = datetime(2030, 1, 1, tzinfo=UTC)
    invite = people.make_invites(store, 1, now, uses=None)[0].id
    persons = [people.arrive(store, invite, now) for _ in range(PERSONS)]
    for person in persons:
        sittings.agree(store, person, now)
    calls = defaultdict(list)

    def timed(name, call, *arguments):
        before = clock()
        result = call(*arguments)
        calls[name].append((clock() - before) * 1000)
        return result

    draw, start, ended = random.Random(0), clock(), 0
    while ended < 50 and (full or clock() - start < seconds):
        person = draw.choice(persons)
        now += timedelta(seconds=1)
        before = clock()
        there = sittings.step(store, person, now)
        took = (clock() - before) * 1000
        if isinstance(there, ShowItem):
            calls["step: a new unit" if there.position == 0 else "step: the next item"].append(took)
            timed("step: again", sittings.step, store, person, now)
            last = "answer: last of a unit" if there.position == there.length - 1 else "answer"
            timed(last, sittings.answer, store, person, there.presentation, {"who": Answer("a")}, now)
        elif isinstance(there, UnitDone):
            calls["step: unit done"].append(took)
            timed("next unit", sittings.next_unit, store, person, now)
        else:
            ended += 1
    found["calls"] = {
        name: {
            "calls": len(times),
            "median_ms": statistics.median(times),
            "p95_ms": statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0],
        }
        for name, times in sorted(calls.items())
    }
    start = clock()
    progress = administration.progress(store, now)
    found |= {"progress_ms": (clock() - start) * 1000, "votes": progress.votes}
    fill(store, ITEMS * ANNOTATIONS - progress.votes)
    start = clock()
    rows = sum(1 for _ in administration.votes(store))
    found |= {"export_rows": rows, "export_seconds": clock() - start}
    start = clock()
    administration.progress(store, now)
    found["progress_full_ms"] = (clock() - start) * 1000
    store.close()
    return found


def fill(store, number):
    """Copies of a vote that is there, so that an export has its full length."""
    from sqlalchemy import text

    with store.engine.begin() as connection:
        columns = 'unit_id, person_id, item_id, role, position, "left", questions, state, shown_at'
        columns += ", answered_at, seconds"
        first = connection.execute(
            text("SELECT min(id) FROM presentations WHERE state = 'answered'")
        ).scalar_one()
        last = connection.execute(text("SELECT max(id) FROM presentations")).scalar_one()
        series = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :number) "
        if number > 0:
            connection.execute(
                text(
                    f"INSERT INTO presentations (id, token, {columns}) "
                    f"{series}SELECT :last + i, 'copy-' || i, {columns} FROM n, presentations WHERE id = :first"
                ),
                {"number": number, "first": first, "last": last},
            )
            connection.execute(
                text(
                    "INSERT INTO votes (presentation_id, question, answer) "
                    "SELECT id, 'who', 'a' FROM presentations WHERE id > :last"
                ),
                {"last": last},
            )


def main():
    """Measure what is there, print it, and write it where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--postgres", help="address of an empty database")
    parser.add_argument("--seconds", type=float, default=60, help="of asking, for each database")
    parser.add_argument("--full", action="store_true", help="ask until every item has its votes")
    parser.add_argument("--output", type=Path, help="where the numbers go, as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {"SQLite": measured(str(Path(folder) / "study.db"), options.seconds, options.full)}
    if options.postgres:
        found["PostgreSQL"] = measured(options.postgres, options.seconds, options.full)
    for name, numbers in found.items():
        print(
            f"{name}: {ITEMS:,} items x {ANNOTATIONS}, {PERSONS} persons, {numbers['votes']:,} votes asked for"
        )
        for call, times in numbers["calls"].items():
            print(
                f"  {call:24} {times['median_ms']:7.1f} ms  p95 {times['p95_ms']:7.1f} ms  ({times['calls']:,})"
            )
        print(
            f"  begin {numbers['begin_seconds']:.1f} s, progress {numbers['progress_full_ms']:.0f} ms, "
            f"export of {numbers['export_rows']:,} rows {numbers['export_seconds']:.2f} s"
        )
    if options.output:
        machine = {
            "python": sys.version.split()[0],
            "machine": platform.machine(),
            "system": platform.system(),
        }
        options.output.write_text(json.dumps({"machine": machine} | found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
