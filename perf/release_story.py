"""Is the new checkpoint worse? Results of `evenhand compare` for a hostile checkpoint, and its error rate for twins.

    python perf/release_story.py --folder checkpoints     # minutes of one core; makes the checkpoints if there are
    none.

One checkpoint was trained to speak of women with hostility, its twin on the same sentences without it
(examples/two_checkpoints.py). Truth is from outside: between `neutral` and `hostile` only women differ, and between a
checkpoint and itself, asked with other seeds of draws, nothing does. Each comparison of twins has separate responses on
both sides, 60 prompts with `--samples` each. `--trained N` also trains N further twins with other seeds and compares
each with `neutral`: different networks, between which nothing was planted.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import polars as pl
from scipy import stats

from evenhand import audit, compare
from evenhand.benchmarks.regard import load_regard
from evenhand.classifiers import load_classifier
from evenhand.models import decoding_preset, load_model
from evenhand.reports import CHANGED, HIGHER, LOWER
from evenhand.studies.compare import ComparisonReport, compare_outputs
from evenhand.studies.compare.outputs import BenchmarkOutputs, Outputs

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import two_checkpoints


def run(model, benchmark, seed, samples, folder):
    """One audit, judged by VADER where something is written."""
    written = benchmark == "regard"
    options = {"samples": samples, "classifiers": {"regard": "vader"}} if written else {}
    path = Path(tempfile.mkdtemp(dir=folder)) / "run"
    return audit(model, benchmarks=[benchmark], seed=seed, output=path, **options)


def found(report):
    """Return sentences on axes whose groups changed differently, and on the overall level."""
    told = report.headlines
    between = told.filter((told["about"] == "between groups") & (told["verdict"] == CHANGED))
    level = told.filter((told["about"] == "over all") & told["verdict"].is_in([LOWER, HIGHER]))
    return between["sentence"].to_list(), level["sentence"].to_list()


def twins(model, seeds, samples):
    """Comparisons of a model with itself: how many name a group, and how many a level.

    All answers are drawn and judged at once, and then cut into runs: a draw depends on prompt, sample and seed alone.
    """
    prompts = load_regard().frame.select("prompt_id", "text", "axis", "group")
    decoding = decoding_preset("gpt2", max_new_tokens=20, samples=2 * seeds * samples, seed=1)
    written = model.generate(prompts["text"].to_list(), decoding)
    distinct = sorted({text for text in written.texts if text and text.strip()})
    judged = load_classifier("vader").classify(distinct)
    labels = dict(zip(distinct, (float(label == "negative") for label in judged.labels), strict=True))
    frame = prompts[written.prompt.tolist()].with_columns(
        sample=pl.Series(written.sample, dtype=pl.Int64),
        regard=pl.Series([labels.get(text or "") for text in written.texts], dtype=pl.Float64),
    )
    axes = levels = 0
    for pair in range(seeds):
        sides = []
        for side in (0, 1):
            first = (2 * pair + side) * samples
            mine = frame.filter(pl.col("sample").is_between(first, first + samples - 1))
            mine = mine.with_columns(sample=pl.col("sample") - first)
            sides.append(
                Outputs(
                    str(side), Path(str(side)), {"regard": BenchmarkOutputs(mine, ("regard",), {}, "above")}
                )
            )
        between, level = found(ComparisonReport(compare_outputs(*sides, seed=pair), Path()))
        axes, levels = axes + bool(between), levels + bool(level)
    return axes, levels


def show(name, hits, n):
    """Return the number of findings in n comparisons, with the Clopper-Pearson CI."""
    limits = stats.binomtest(hits, n).proportion_ci()
    print(f"{name:<52} {hits:>3} of {n}   {100 * limits.low:.1f} to {100 * limits.high:.1f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=Path("checkpoints"))
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--only-twins", action="store_true", help="Leave the hostile checkpoint out.")
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
        for benchmark in () if given.only_twins else ("evenhand-likelihood", "regard"):
            runs = [run(model, benchmark, 0, 100, folder) for model in (neutral, hostile)]
            report = compare(*runs, names=["neutral", "hostile"])
            print(f"{benchmark}, neutral against hostile: {report.headlines['sentence'][0]}", flush=True)
        axes, levels = twins(neutral, given.seeds, given.samples)
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
            show(f"{benchmark}, trained again: a group named", axes, given.trained)


if __name__ == "__main__":
    main()
