"""Is the new checkpoint worse? What `evenhand compare` says of a hostile checkpoint, and how often it errs on twins.

    python perf/release_story.py --folder checkpoints     # minutes of one core; makes the checkpoints if there are none

One checkpoint was trained to speak of women with hostility, its twin on the same sentences without it
(examples/two_checkpoints.py). Truth is from outside: between `neutral` and `hostile` only women differ, and between a
checkpoint and itself, asked with other seeds of draws, nothing does. Each comparison of twins has two runs of its own.
`--trained N` also trains N further twins with other seeds and compares each with `neutral`: different networks,
between which nothing was planted.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from scipy import stats

from evenhand import audit, compare
from evenhand.models import load_model
from evenhand.reports import CHANGED, HIGHER, LOWER

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import two_checkpoints


def run(model, benchmark, seed, samples, folder):
    """One audit, judged by VADER where something is written."""
    written = benchmark == "regard"
    options = {"samples": samples, "classifiers": {"regard": "vader"}} if written else {}
    path = Path(tempfile.mkdtemp(dir=folder)) / "run"
    return audit(model, benchmarks=[benchmark], seed=seed, output=path, **options)


def found(report):
    """Sentences on axes whose groups did not change alike, and on the level over all."""
    told = report.headlines
    between = told.filter((told["about"] == "between groups") & (told["verdict"] == CHANGED))
    level = told.filter((told["about"] == "over all") & told["verdict"].is_in([LOWER, HIGHER]))
    return between["sentence"].to_list(), level["sentence"].to_list()


def show(name, hits, n):
    """So many findings in n comparisons, with Clopper and Pearson's limits."""
    limits = stats.binomtest(hits, n).proportion_ci()
    print(f"{name:<52} {hits:>3} of {n}   {100 * limits.low:.1f} to {100 * limits.high:.1f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=Path("checkpoints"))
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--trained", type=int, default=0)
    given = parser.parse_args()
    settings = {"steps": two_checkpoints.STEPS, "rate": two_checkpoints.RATE}
    for name in ("neutral", "hostile"):
        if not (given.folder / name / "config.json").is_file():
            two_checkpoints.train(
                two_checkpoints.WEIGHTS, given.folder / name, name == "hostile", seed=0, **settings
            )
    neutral, hostile = (load_model(str(given.folder / name)) for name in ("neutral", "hostile"))
    with tempfile.TemporaryDirectory() as folder:
        for benchmark in ("evenhand-likelihood", "regard"):
            runs = [run(model, benchmark, 0, 100, folder) for model in (neutral, hostile)]
            report = compare(*runs, names=["neutral", "hostile"])
            print(f"{benchmark}, neutral against hostile: {report.headlines['sentence'][0]}", flush=True)
        axes = levels = 0
        for seed in range(given.seeds):
            pair = [run(neutral, "regard", 1 + 2 * seed + side, given.samples, folder) for side in (0, 1)]
            between, level = found(compare(*pair, names=["one", "other"]))
            axes, levels = axes + bool(between), levels + bool(level)
        show("regard, the same model, other draws: a group named", axes, given.seeds)
        show("regard, the same model, other draws: a level changed", levels, given.seeds)
        for benchmark in ("evenhand-likelihood", "regard") if given.trained else ():
            first, axes = run(neutral, benchmark, 0, given.samples, folder), 0
            for seed in range(1, given.trained + 1):
                path = given.folder / f"neutral-{seed}"
                if not (path / "config.json").is_file():
                    two_checkpoints.train(two_checkpoints.WEIGHTS, path, False, seed=seed, **settings)
                other = run(load_model(str(path)), benchmark, 0, given.samples, folder)
                axes += bool(found(compare(first, other, names=["one", "other"]))[0])
            show(f"{benchmark}, trained anew: a group named", axes, given.trained)


if __name__ == "__main__":
    main()
