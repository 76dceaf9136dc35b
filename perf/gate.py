"""Measure how often a gate fails with and without a real change: whole audits of scripted models.

    python perf/gate.py                         # About half an hour on one core: perf/results/gate.json.
    python perf/gate.py --sets 20 --design small

Each set audits two models on the same prompts: every prompt has a separate probability of a hostile response
(beta-binomial, intraclass correlation .2), which both models share. Each response is sampled independently. `twins` are
two samples of the same model. `biased twins` both treat one group worse by a stated amount, so that "biased" is true
and "new biased" is not. In `harmed`, only the later model does. The gate fails if any axis fails. `new, sentence alone`
is the failure rate if every "New:" sentence of the report counted. The MDEs of single audits take most of the time and
do not affect verdicts, so only their first guess is used. The MDEs of changes are computed in full.
"""

import argparse
import hashlib
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from evenhand import audit, compare, gate
from evenhand.models.puppets import writes
from evenhand.stats.disparity import simulated

RESULTS = Path(__file__).with_name("results") / "gate.json"
ICC = 0.2
DESIGNS = {  # axes, groups an axis, prompts a group, samples, base rate, added for the harmed group
    "small": (3, 2, 10, 10, 0.2, 0.4),
    "middle": (3, 4, 40, 5, 0.1, 0.2),
    "large": (2, 8, 60, 3, 0.1, 0.2),
}
TRUTHS = {"twins": (False, False), "biased twins": (True, True), "harmed": (False, True)}
CONDITIONS = (
    "worse",
    "new biased",
    "biased",
    "disparity > 5 points",
    "disparity > 10 points",
    "level higher",
)
HOSTILE, KIND = " a horrible, hated liar.", " a cook at the hotel."


def prompts(design) -> pl.DataFrame:
    axes, groups, count, *_ = design
    return pl.DataFrame(
        [
            {
                "axis": f"axis{a}",
                "group": f"group{a}{g}",
                "noun_phrase": f"The person {a}-{g}",
                "text": f"The person {a}-{g}-{i} worked as",
            }
            for a in range(axes)
            for g in range(groups)
            for i in range(count)
        ]
    )


def uniform(*words) -> float:
    digest = hashlib.blake2b(" ".join(map(str, words)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64


def model(design, seed: int, draw: int, harmed: bool):
    """Answers whose chances belong to the set (`seed`) and whose luck belongs to the model (`draw`)."""
    base, added = design[4:]
    size = (1 - ICC) / ICC

    def rate(prompt: str) -> float:
        mean = base + (added if harmed and prompt.startswith("The person 0-0-") else 0.0)
        generator = np.random.default_rng(int(uniform(seed, prompt) * 2**63))
        return float(generator.beta(mean * size, (1 - mean) * size))

    rates = {text: rate(text) for text in prompts(design)["text"]}
    return writes(
        lambda prompt, sample: HOSTILE if uniform(seed, draw, prompt, sample) < rates[prompt] else KIND,
        "puppet",
    )


def outcomes(design, seed: int, harmed: tuple[bool, bool], folder: Path) -> dict[str, bool]:
    """Return for each condition whether the gate failed."""
    file = folder / "prompts.csv"
    prompts(design).write_csv(file)
    runs = [
        audit(
            model(design, seed, draw, is_harmed), benchmarks=["regard"], prompts=str(file), samples=design[3],
            classifiers={"regard": "vader"}, output=folder / f"run{draw}",
        )
        for draw, is_harmed in enumerate(harmed)
    ]  # fmt: skip
    report = compare(*runs, seed=seed, output=folder / "compared")
    failed = {text: not gate(report, [text]).passed for text in CONDITIONS}
    new = report.headlines.filter(pl.col("about") == "standing", pl.col("sentence").str.starts_with("New:"))
    named = any(case.axis == "axis0" for case in gate(report, ["worse"]).failures)
    powered = gate(report, ["worse"], require_power=design[5] * 100)
    return failed | {"new, sentence alone": not new.is_empty(), "names the axis": named,
                     "not passed with the power required": not powered.passed}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=150, help="of each design and truth")
    parser.add_argument("--design", choices=DESIGNS, action="append")
    parser.add_argument("--truth", choices=TRUTHS, action="append")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    simulated._solve_difference = lambda drawn, base, place, guess: guess if guess > 0 else float("nan")
    results = json.loads(given.output.read_text()) if given.output.is_file() else {}
    for name in given.design or DESIGNS:
        design = DESIGNS[name]
        of_design = results.setdefault(name, {})
        of_design["design"] = dict(
            zip(("axes", "groups", "prompts", "samples", "base", "added"), design, strict=True)
        )
        for truth in given.truth or TRUTHS:
            found: list[dict[str, bool]] = []
            began = time.perf_counter()
            for seed in range(given.sets):
                with tempfile.TemporaryDirectory() as folder:
                    found.append(outcomes(design, seed, TRUTHS[truth], Path(folder)))
            rates = {key: round(sum(one[key] for one in found) / len(found), 4) for key in found[0]}
            of_design[truth] = {"sets": len(found), **rates}
            seconds = time.perf_counter() - began
            print(name, truth, f"{seconds:.0f} s", json.dumps(of_design[truth]), flush=True)
            given.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
