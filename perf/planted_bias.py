"""Measure how much of another planted bias each method removes in another model, its side effects and its cost.

    python perf/planted_bias.py --folder second_world     # Ten minutes of one core; resumes where it was stopped.

A World with different planted biases (nationality instead of religion, and one on gender, which nothing is trained
against) is learned by a network of another size and seed. Then each method is trained against `evenhand/nationality`,
with several seeds. Truth is from outside: what is planted is known, and perplexity is that of texts drawn from the
World itself. Sentences are asked with nouns that no training saw. The unit of every interval is the pair of sentences.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from evenhand.models import load_model
from evenhand.prompts.language import compose, load_templates
from evenhand.prompts.lexicon import load_lexicon
from evenhand.reference.story import Plant
from evenhand.reference.training.train import Recipe, save, train
from evenhand.reference.worlds import planted_world
from evenhand.studies.debias import debias

PLANTED = (
    ("nationality", "africa", "opinion:negative", 2.0),
    ("gender_and_sex", "transgender", "opinion:negative", 2.0),
)
TRAINED = "nationality"
UNPLANTED = ("religion", "political_ideologies")
RECIPE = Recipe(layers=2, hidden=96, heads=4, blocks=2, rows=2, seed=7, sayings=0, shifted=0)
METHODS = ("lmd?weight=0", "lmd", "add", "hd", "cda")
NOUNS = ("sister", "teenager")
DRAWN = 1000


def second_world():
    """The World with the other plants."""
    people = load_lexicon().descriptors

    def named(axis, bucket):
        return tuple(one.descriptor for one in people if (one.axis, one.bucket) == (axis, bucket))

    return planted_world(
        tuple(Plant(axis, target, odds, named(axis, bucket)) for axis, bucket, target, odds in PLANTED)
    )


def opinions():
    """Return hostile and kind sentences about all people of the tested axes."""
    axes = [axis for axis, *_ in PLANTED] + list(UNPLANTED)
    lexicon = load_lexicon().select(axes=axes)
    frame = compose(lexicon, load_templates(kinds=["opinion"]), NOUNS, controls=False)
    return frame.filter(pl.col("form") == "adjective")


def shifts(model, frame):
    """Return how much more likely the hostile half is than the kind one, in nats, by axis, bucket, descriptor and
    pair."""
    scored = frame.with_columns(value=pl.Series(model.log_likelihoods(frame["text"].to_list()).sums))
    sign = pl.when(pl.col("valence") == "negative").then(1.0).otherwise(-1.0)
    keys = ["axis", "bucket", "descriptor", "pair"]
    return scored.group_by(keys, maintain_order=True).agg(
        ((sign * pl.col("value")).sum() / pl.col("noun").n_unique()).alias("shift")
    )


def planted_shift(table, axis, bucket):
    """The mean shift of the planted people beside that of the others, for each pair of sentences."""
    mine = pl.col("bucket") == bucket
    found = table.filter(axis=axis).group_by("pair").agg(
        (pl.col("shift").filter(mine).mean() - pl.col("shift").filter(~mine).mean()).alias("beside")
    )  # fmt: skip
    return found.sort("pair")["beside"].to_numpy()


def spread(table, axis):
    """Standard deviation over descriptors of the mean shift."""
    return float(table.filter(axis=axis).group_by("descriptor").agg(pl.col("shift").mean())["shift"].std())


def interval(values):
    """Mean and 95 % limits, by t."""
    error = values.std(ddof=1) / len(values) ** 0.5
    reach = float(stats.t.ppf(0.975, len(values) - 1)) * error
    return [float(values.mean()), float(values.mean() - reach), float(values.mean() + reach)]


def compared(before, after, drawn):
    """What became of each axis, and how much more surprised the model is by what its World says."""
    one, two = before["shifts"], after["shifts"]
    found = {}
    for axis, bucket, *_ in PLANTED:
        then, now = (planted_shift(table, axis, bucket) for table in (one, two))
        found[axis] = {
            "before": float(then.mean()),
            "after": float(now.mean()),
            "fall": interval(then - now),
        }
    found |= {axis: {"before": spread(one, axis), "after": spread(two, axis)} for axis in UNPLANTED}
    more = drawn["before"] - after["sums"]
    tokens = drawn["tokens"]
    found["perplexity"] = [
        float(np.exp(value)) for value in np.array(interval(more)) / tokens.mean()
    ]  # of texts, over their mean length
    return found


def asked(name, frame, texts):
    """What is needed of one model."""
    model = load_model(str(name), device="cpu", dtype="float32")
    found = model.log_likelihoods(texts)
    return {"shifts": shifts(model, frame), "sums": found.sums, "tokens": np.diff(found.offsets)}


def main():
    """Train what is not there yet, and tell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True, help="of the models; kept")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    base, world = options.folder / "base", second_world()
    if not (base / "config.json").is_file():
        save(*train(world, RECIPE), base)
    frame, texts, found = opinions(), world.sample(DRAWN, seed=1), {}
    before = asked(base, frame, texts)
    drawn = {"before": before["sums"], "tokens": before["tokens"]}
    for seed in range(1, options.seeds + 1):
        for method in METHODS:
            folder = options.folder / f"{method.replace('?', '-')}-{seed}"
            debias(str(base), method=method, bias=f"evenhand/{TRAINED}", seed=seed, output=folder)
            one = found[f"{method}, seed {seed}"] = compared(before, asked(folder, frame, texts), drawn)
            print(method, seed, json.dumps(one, default=float), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
