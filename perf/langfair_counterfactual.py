"""Compare langfair's counterfactual metrics with evenhand's, for models without and with a
preference.

    python -m venv compare && compare/bin/pip install evenhand langfair==0.8.0
    compare/bin/python perf/langfair_counterfactual.py        # Five minutes.

Both read the same answers: 40 requests for a reference, asked about a woman and about a man, four answers each. The
model draws sentences at random. With the preference it praises her as it praises him in half of its sentences, more
coolly in the others, and rates her a point lower. langfair compares the two responses of a pair. Its cosine
similarity needs a sentence-transformers model (--transformer NAME). Its BLEU needs the tokenizer data "punkt_tab" of
nltk. If they are missing, nltk's Treebank tokenizer is used, on which the same function is based, and the result
reports this.
"""

import argparse
import json
import logging
import sys
import warnings
from pathlib import Path

import numpy as np
import polars as pl

PRAISE = (
    "has been a pleasure to work with", "is the best engineer I have met", "solved our hardest problems",
    "leads with clarity and calm", "earned the trust of every client", "writes code that others learn from",
    "finishes what others give up", "asks the questions that matter",
)  # fmt: skip
COOL = (
    "is usually on time", "did what was asked", "was friendly to the staff", "tries hard", "may grow into the role",
    "needs some guidance", "kept a tidy desk", "follows instructions",
)  # fmt: skip
ENDS = ("I am glad to tell more.", "Call me at any time.", "With best regards.", "Thank you for reading.")
PROMPTS, SAMPLES = 40, 4


def answers(seed: int, planted: bool) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for base in range(PROMPTS):
        level = rng.normal(7, 1)
        own = rng.permutation(len(PRAISE))[:5]  # what this request suggests to the model
        for group, noun in (("women", "woman"), ("men", "man")):
            for sample in range(SAMPLES):
                less = planted and group == "women"
                chosen = [
                    (COOL if less and rng.random() < 0.5 else PRAISE)[place]
                    for place in rng.permutation(own)[:3]
                ]
                rating = int(np.clip(round(level - less + rng.normal(0, 0.8)), 1, 10))
                text = (
                    f"This {noun} "
                    + f". The {noun} ".join(chosen)
                    + f". {rng.choice(ENDS)} Rating: {rating}/10"
                )
                rows.append(
                    (
                        f"b{base}",
                        "gender",
                        group,
                        f"Write a reference for the {noun}, case {base}.",
                        sample,
                        text,
                    )
                )
    names = ["base", "axis", "group", "text", "sample", "continuation"]
    return pl.DataFrame(rows, schema=names, orient="row")


def theirs(frame: pl.DataFrame, transformer: str | None) -> dict[str, float]:
    from langfair.metrics.counterfactual.metrics import (
        BleuSimilarity,
        CosineSimilarity,
        RougelSimilarity,
        SentimentBias,
    )

    sides = [
        frame.filter(group=group).sort("base", "sample")["continuation"].to_list()
        for group in ("women", "men")
    ]
    quiet = {"show_progress_bars": False}
    found = {
        "ROUGE-L similarity": float(RougelSimilarity().evaluate(*sides, **quiet)),
        "BLEU similarity": float(BleuSimilarity().evaluate(*sides, **quiet)),
        "sentiment bias": float(SentimentBias().evaluate(*sides, **quiet)),
    }
    if transformer:
        found["cosine similarity"] = float(
            CosineSimilarity(transformer=transformer).evaluate(*sides, **quiet)
        )
    return found


def ours(frame: pl.DataFrame) -> dict[str, dict[str, float | bool | None]]:
    from evenhand.measures import counterfactual_outcomes
    from evenhand.schema import measurement_frame
    from evenhand.stats import reach_verdicts

    table = measurement_frame(counterfactual_outcomes(frame, ["similarity", "rating:1-10"]).rows())
    judged, findings = reach_verdicts(table)
    shown = {}
    for row in findings.filter(pl.col("group").is_null() | (pl.col("group") == "women")).to_dicts():
        name = {"similarity_gap": "similarity gap", "score_difference": "rating, women less men"}.get(
            row["measure"]
        )
        if name:
            shown[name] = {key: row[key] for key in ("estimate", "low", "high", "null", "verdict")}
    described = judged.filter(pl.col("measure").is_in(["similarity_across", "similarity_floor"]))
    for measure, value in described.select("measure", "estimate").rows():
        shown[measure.replace("_", " ")] = {"estimate": value}
    return shown


def beside() -> str:
    """Have langfair's BLEU find a tokenizer; returns which."""
    try:
        from langfair.metrics.counterfactual.metrics import bleu
        from nltk.tokenize import TreebankWordTokenizer
    except ImportError as missing:
        sys.exit(
            f"langfair cannot be used here ({missing}). pip install langfair==0.8.0, in a separate environment."
        )
    try:
        bleu.word_tokenize("one word")
    except LookupError:
        bleu.word_tokenize = TreebankWordTokenizer().tokenize
        return "Treebank (punkt_tab is not here)"
    return "punkt_tab"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=20, help="data sets of each model")
    parser.add_argument("--transformer", help="sentence-transformers model for langfair's cosine similarity")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results" / "langfair_counterfactual.json"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    content: dict[str, object] = {"tokenizer of BLEU": beside(), "data sets": options.sets}
    for name, planted in (("no bias", False), ("planted preference", True)):
        frames = [answers(seed, planted) for seed in range(options.sets)]
        values = pl.DataFrame([theirs(frame, options.transformer) for frame in frames])
        of_langfair = {
            key: {"mean": values[key].mean(), "lowest": values[key].min(), "highest": values[key].max()}
            for key in values.columns
        }
        all_ours = [ours(frame) for frame in frames]
        of_ours = {
            key: {
                "mean": float(np.mean([one[key]["estimate"] for one in all_ours])),
                "biased in": sum(one[key].get("verdict") == "biased" for one in all_ours),
                "first data set": all_ours[0][key],
            }
            for key in all_ours[0]
        }
        content[name] = {"langfair": of_langfair, "evenhand": of_ours}
        print(name, json.dumps(content[name], indent=1, default=str))
    options.output.write_text(json.dumps(content, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()
