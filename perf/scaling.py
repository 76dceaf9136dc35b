"""Measure the cost of coordination with more workers: an audit's engine with 1, 2 and more, on one machine.

    python perf/scaling.py                                  # About 3 minutes.
    python perf/scaling.py --folder s3://bucket/scratch     # The run's folder on a store, too.

Simulated workers: each request keeps a worker for --milliseconds (it sleeps, as a driver waits for an accelerator), so
that more "machines" than this one has cores can be tested. The difference between this time and
the wall-clock time is coordination: dividing, sending, gathering, writing shards. Real workers: the shipped network on
the same requests, which needs the cores that this machine has. Starting the cluster and loading are reported
separately: they occur once per run. Nothing here crosses a network: on a cluster add its latency, some 0.5 ms a piece
of about a second.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from secrets import token_hex

import polars as pl


def sleeping(milliseconds):
    """A model that answers any text after so long a time."""
    from evenhand.models.puppets import Puppet, load_puppet

    kind = load_puppet("puppet/uniform")

    def slow(texts):
        time.sleep(len(texts) * milliseconds / 1000)
        return kind.token_log_prob(texts)

    return Puppet("perf/sleeping", slow)


def reference():
    from evenhand.models import load_model

    return load_model("evenhand/reference", device="cpu")


def sentences(count):
    from evenhand.prompts.language import compose

    return compose()["text"].unique(maintain_order=True)[:count].to_list()


def asked(model, texts, place):
    """Seconds on the clock of asking everything once, in a fresh folder, and how many shards that made."""
    from evenhand.runs import PlanPart, RunDirectory, ScoreRequest, execute, make_plan
    from evenhand.runs.remote import working_copy

    prompts = pl.DataFrame({"prompt_id": [f"p{i}" for i in range(len(texts))], "text": texts})
    plan = make_plan([PlanPart("texts", prompts, ScoreRequest())], model.fingerprint)
    began = time.perf_counter()
    with working_copy(place) as copy:
        directory = RunDirectory.create(copy.folder, model=model, given={}, resolved={})
        outcome = execute(plan, model, directory, progress=copy.report_after_upload(None))
        shards = directory.manifest.sessions[-1].shards
    assert outcome.answered == len(texts) and not outcome.errors
    return time.perf_counter() - began, shards


def place_of(folder, scratch):
    name = token_hex(4)
    return scratch / name if folder is None else f"{folder.rstrip('/')}/{name}"


def with_workers(make, number, texts, folder, scratch):
    """Start a number of workers, load, run a few texts, then everything."""
    from evenhand.runs.cluster import Recipe, load_remote_model, start_workers

    began = time.perf_counter()
    with start_workers("ray", number, accelerated=False) as pool:
        far = load_remote_model(pool, Recipe(make))
        deadline = time.perf_counter() + 120
        while time.perf_counter() < deadline:
            far.log_likelihoods(texts[: 50 * number])
            if len(pool._seen) == number:  # every worker has loaded and answered
                break
        loaded = time.perf_counter() - began
        seconds, shards = asked(far, texts, place_of(folder, scratch))
    return {"workers": number, "seconds": seconds, "shards": shards, "seconds_until_loaded": loaded}


def table(kind, rows, ideal):
    """Return the speed-up compared with one worker, and the share of the time that is work."""
    print(
        f"\n{kind}\n{'workers':>9s}{'seconds':>10s}{'speed-up':>10s}{'work':>8s}{'shards':>8s}{'loaded after':>14s}"
    )
    first = next((row["seconds"] for row in rows if row["workers"] == 1), rows[0]["seconds"])
    for row in rows:
        row["speed_up"] = first / row["seconds"]
        busy = ideal / max(row["workers"], 1) / row["seconds"] if ideal else None
        row["share_of_work"] = busy
        print(
            f"{row['workers'] or 'none':>9}{row['seconds']:10.2f}{row['speed_up']:10.2f}"
            f"{'' if busy is None else f'{busy:.1%}':>8s}{row['shards']:8d}{row['seconds_until_loaded']:12.1f} s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--requests", type=int, default=6000)
    parser.add_argument("--milliseconds", type=float, default=4.0, help="that a request keeps a worker")
    parser.add_argument("--real", type=int, nargs="*", default=[1, 2], help="workers of the shipped network")
    parser.add_argument("--real-requests", type=int, default=20_000)
    parser.add_argument("--folder", help="where the run lies: the address of a store; default a folder here")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "scaling.json")
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    texts = sentences(max(given.requests, given.real_requests))
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        few, ideal = texts[: given.requests], given.requests * given.milliseconds / 1000
        alone, shards = asked(sleeping(given.milliseconds), few, place_of(given.folder, scratch))
        simulated = [{"workers": 0, "seconds": alone, "shards": shards, "seconds_until_loaded": 0.0}]
        make = partial(sleeping, given.milliseconds)
        simulated += [with_workers(make, n, few, given.folder, scratch) for n in given.workers]
        table(
            f"simulated workers, {given.requests:,} requests of {given.milliseconds:g} ms", simulated, ideal
        )
        real = []
        if given.real:
            many = texts[: given.real_requests]
            alone, shards = asked(reference(), many, place_of(given.folder, scratch))
            real = [{"workers": 0, "seconds": alone, "shards": shards, "seconds_until_loaded": 0.0}]
            real += [with_workers(reference, n, many, given.folder, scratch) for n in given.real]
            table(f"the shipped network, {len(many):,} requests", real, None)
    facts = {"machine": platform.machine(), "cores": os.cpu_count(), "folder": given.folder or "here"}
    facts |= {
        "requests": given.requests,
        "milliseconds": given.milliseconds,
        "python": sys.version.split()[0],
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps({**facts, "simulated": simulated, "real": real}, indent=1) + "\n")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
