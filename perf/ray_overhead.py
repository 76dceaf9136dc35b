"""Measure the cost of Ray workers in addition to the model's own work: processor time with and without them.

    python perf/ray_overhead.py                 # About 5 minutes on 2 cores: perf/results/ray_overhead.json.

A tiny GPT-2-shaped network with random weights (--layers, --width; of the shipped one, --model evenhand/reference, the
work of a request is next to nothing) scores our own sentences and writes continuations: plan, engine and shards on
disk, once in one process and once with `--workers` workers on a cluster of this machine's own. Counted is processor
time of the same requests, best of `--repeats`, taken in turns: of this process and the workers, and apart from it of
Ray's own processes, which idle along with the clock, not with requests. The cost of starting is reported separately,
because it occurs once per run. Each worker computes on one thread, and so does the run without workers.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path

from common import descendants, model_with_tokenizer

TICK = os.sysconf("SC_CLK_TCK")


def processor_seconds(pids):
    """Return the processor time of running processes, as Linux reports it."""
    seconds = 0.0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
        seconds += (int(fields[11]) + int(fields[12])) / TICK
    return seconds


def asked(model, config, folder, workers=()):
    """Processor and wall seconds of asking everything, in a fresh folder: here, with workers, with all of Ray."""
    from evenhand.runs import RunDirectory, execute
    from evenhand.studies.audit import select

    plan = select(config, model).plan(model)
    directory = RunDirectory.create(Path(folder) / "run", model=model, given={}, resolved={})
    everybody = descendants(os.getpid())
    others = [pid for pid in everybody if pid not in workers]
    before = time.perf_counter(), time.process_time(), processor_seconds(workers), processor_seconds(others)
    outcome = execute(plan, model, directory)
    after = time.perf_counter(), time.process_time(), processor_seconds(workers), processor_seconds(others)
    wall, here, there, ray = (b - a for a, b in zip(before, after, strict=True))
    return {"requests": outcome.requests, "answers": outcome.answers, "wall": wall, "driver": here, "workers": there,
            "ray": ray, "shards": directory.manifest.sessions[-1].shards}  # fmt: skip


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--model", help="in place of one with random weights")
    options.add_argument("--layers", type=int, default=4)
    options.add_argument("--width", type=int, default=256)
    options.add_argument("--limit", type=int, default=8000, help="prompts that are scored")
    options.add_argument("--prompts", type=int, default=60, help="prompts that are continued, 100 times each")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results" / "ray_overhead.json"
    )
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(given, given.model or random_model(Path(folder), given))
    print(json.dumps(found, indent=1))
    rows = json.loads(given.output.read_text()) if given.output.is_file() else {}
    rows[f"{given.model or f'{given.layers}x{given.width}'}, {given.workers} workers"] = found
    given.output.write_text(json.dumps(rows, indent=1) + "\n")


def random_model(folder, given):
    """The folder of a model with random weights, and a vocabulary of our own sentences."""
    from evenhand.benchmarks import load_benchmark

    corpus = load_benchmark("evenhand-likelihood").build({}).frame["text"].unique().sort().to_list()[:20000]
    model, tokenizer = model_with_tokenizer(corpus, given.layers, given.width, 4, 4000)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def measured(given, name):
    """Seconds of both ways, side by side."""
    from evenhand.models import load_model
    from evenhand.runs.cluster import start_workers
    from evenhand.studies.audit import AuditConfig, audited_model

    configs = {
        "likelihoods": AuditConfig(model=name, device="cpu", suite="quick", limit=given.limit),
        "continuations": AuditConfig(
            model=name,
            device="cpu",
            benchmarks=("regard",),
            classifiers={"regard": "vader"},
            limit=given.prompts,
        ),
    }
    found = {kind: {"one process": [], "workers": []} for kind in configs}
    here = load_model(name, device="cpu")
    began = time.perf_counter()
    with start_workers("ray", given.workers, accelerated=False) as pool:
        started = time.perf_counter() - began
        far = audited_model(configs["likelihoods"], pool=pool)
        far.log_likelihoods([f"Text {i}." for i in range(64)])
        while sum("ray::Worker" in name for name in descendants(os.getpid()).values()) < given.workers:
            time.sleep(0.1)
        time.sleep(5)  # the other workers have loaded, too
        loaded = time.perf_counter() - began
        workers = [pid for pid, name in descendants(os.getpid()).items() if "ray::Worker" in name]
        for _ in range(given.repeats):
            for kind, config in configs.items():
                for place, model, who in (("one process", here, ()), ("workers", far, workers)):
                    with tempfile.TemporaryDirectory() as folder:
                        found[kind][place].append(asked(model, config, folder, who))
    result = {
        "seconds_until_cluster": started,
        "seconds_until_loaded": loaded,
        "machine": platform.machine(),
    }
    for kind, runs in found.items():
        alone = min(run["driver"] for run in runs["one process"])
        best = min(runs["workers"], key=lambda run: run["driver"] + run["workers"])
        spent = best["driver"] + best["workers"]
        result[kind] = {
            "requests": best["requests"],
            "answers": best["answers"],
            "processor_seconds": {
                "one process": alone,
                **{key: best[key] for key in ("driver", "workers", "ray")},
            },
            "wall_seconds": {place: min(run["wall"] for run in runs[place]) for place in runs},
            "overhead_percent": 100 * (spent / alone - 1),
            "overhead_percent_with_ray": 100 * ((spent + best["ray"]) / alone - 1),
            "milliseconds_a_request": 1000 * (spent - alone) / best["requests"],
        }
    return result


if __name__ == "__main__":
    main()
