"""Examples for the search of a trigger: continuations with group and label, from a file or from the model."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.classifiers import ClassifiedText, Classifier, Labels, classified_texts
from evenhand.models import Decoding, LanguageModel, text_generator
from evenhand.prompts.own_files import read_table, require_columns, text_column
from evenhand.schema import DataError, UsageError

EXAMPLE_FORMAT = (
    "A file of examples is CSV, JSON Lines or Parquet with one text per row: `text` (the prompt), `continuation` (the "
    "text to make more or less likely; without this column, the whole text), `group`, and `label`: "
    "negative, neutral or positive."
)
PROMPT_FORMAT = (
    "A file of prompts is CSV, JSON Lines or Parquet with one prompt per row: `text`, optionally `group` and "
    "`split` (train, dev, test)."
)
LABELS = {
    "negative": "negative",
    "neutral": "neutral",
    "positive": "positive",
    "undesirable": "negative",
    "desirable": "neutral",
    "-1": "negative",
    "0": "neutral",
    "1": "positive",
}
LEFT_OUT = ("other", "2")
"""Labels of examples that are left out. Annotators of regard could not decide; the published search
ignores them, too.
"""
SPLITS = {"train": 0.5, "dev": 0.25, "test": 0.25}


@dataclass(frozen=True)
class Example:
    """One labelled continuation of one prompt.

    weight: weight of each of its tokens relative to tokens of other examples.
    """

    text: str
    continuation: str
    group: str
    label: str
    weight: float = 1.0


def read_examples(path: Path | str) -> tuple[Example, ...]:
    """Read your own labelled continuations (for the format, see EXAMPLE_FORMAT).

    Rows with the label other (or 2) are left out. Raises a DataError for missing columns, unknown labels and empty
    texts.
    """
    path = Path(path)
    frame = read_table(path, EXAMPLE_FORMAT)
    require_columns(frame, ["text", "group", "label"], path, EXAMPLE_FORMAT)
    whole = "continuation" not in frame.columns
    made = []
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        label = str(row["label"]).strip().lower()
        if label in LEFT_OUT:
            continue
        if label not in LABELS:
            raise DataError(
                f"{path}, row {number}: the label {row['label']!r} is not one of {', '.join(LABELS)}.",
                EXAMPLE_FORMAT,
            )
        text, group = str(row["text"] or ""), str(row["group"] or "")
        continuation = text if whole else str(row["continuation"] or "")
        if not continuation.strip():
            raise DataError(f"{path}, row {number}: there is no continuation to score.", EXAMPLE_FORMAT)
        made.append(Example("" if whole else text, continuation, group, LABELS[label]))
    return tuple(made)


def read_trigger_prompts(path: Path | str) -> pl.DataFrame:
    """Read the prompts with which a trigger is found and measured (for the format, see PROMPT_FORMAT).

    Returns a table with prompt_id, text, group and the other columns of the file. Raises a DataError for missing
    columns, empty texts, or a split other than train, dev and test.
    """
    path = Path(path)
    frame = read_table(path, PROMPT_FORMAT)
    require_columns(frame, ["text"], path, PROMPT_FORMAT)
    frame = frame.with_columns(text_column(frame, "text", path))
    empty = (frame["text"].fill_null("").str.strip_chars() == "").arg_true()
    if len(empty):
        raise DataError(f"{path}, row {int(empty[0]) + 1}: the prompt is empty.", PROMPT_FORMAT)
    if "split" in frame.columns and (unknown := set(frame["split"]) - set(SPLITS)):
        raise DataError(
            f"{path}: 'split' contains {', '.join(sorted(map(str, unknown)))}; expected train, dev and test.",
            PROMPT_FORMAT,
        )
    if "group" not in frame.columns:
        frame = frame.with_columns(group=pl.lit("all"))
    frame = frame.with_columns(text_column(frame, "group", path).fill_null(""))
    if "prompt_id" not in frame.columns:
        frame = frame.with_columns(prompt_id=pl.format("prompt-{}", pl.int_range(1, pl.len() + 1)))
    return frame.with_columns(pl.col("prompt_id").cast(pl.String))


def split_prompts(prompts: pl.DataFrame, seed: int = 0) -> dict[str, pl.DataFrame]:
    """Divide prompts into those for the search, the choice and the test, without a text in two parts.

    Parameters
    ----------
    prompts : polars.DataFrame
        Columns text and group, and optionally `split`, which is then used. Otherwise half of each group's distinct
        texts is for the search, and a quarter each for choice and test.
    seed : int
        Random seed.

    Raises
    ------
    DataError
        A part would be empty.

    >>> frame = pl.DataFrame({"text": [f"Prompt {i}" for i in range(8)], "group": ["a", "b"] * 4})
    >>> {name: part.height for name, part in split_prompts(frame).items()}
    {'train': 4, 'dev': 2, 'test': 2}
    """
    if "split" in prompts.columns:
        parts = {name: prompts.filter(pl.col("split") == name) for name in SPLITS}
    else:
        place: dict[str, str] = {}
        draw = np.random.default_rng(seed)
        for (_,), rows in prompts.group_by("group", maintain_order=True):
            texts = [text for text in rows["text"].unique(maintain_order=True) if text not in place]
            order = draw.permutation(len(texts))
            for_test = len(texts) // 4
            for rank, i in enumerate(order):
                place[texts[i]] = "test" if rank < for_test else "dev" if rank < 2 * for_test else "train"
        where = prompts["text"].replace_strict(place, return_dtype=pl.String)
        parts = {name: prompts.filter(where == name) for name in SPLITS}
    if lacking := [name for name, part in parts.items() if part.is_empty()]:
        raise DataError(
            f"{prompts.height} prompts are too few: none is left for {' and '.join(lacking)}.",
            "Give at least four different prompts per group, or a column `split` with train, dev and test.",
        )
    return parts


def collect_examples(
    model: LanguageModel,
    prompts: pl.DataFrame,
    classifier: Classifier,
    decoding: Decoding,
    *,
    rule: ClassifiedText | None = None,
    desirable: float = 0.2,
    undesirable: float = 0.8,
) -> tuple[Example, ...]:
    """Return the model's own continuations as examples, labelled by a classifier.

    prompts: columns text and group. Labels negative, neutral and positive of a classifier are used directly. For other
    classifiers, a score below `desirable` makes a text neutral, one above `undesirable` makes it negative, and texts in
    between are left out. Raises DataError if no desirable or no undesirable example is left. Source: ROBBIE, section
    B.3.3.
    """
    if not 0 <= desirable <= undesirable <= 1:
        raise UsageError(
            f"desirable and undesirable must be from 0 to 1, and desirable at most undesirable, got {desirable} "
            f"and {undesirable}."
        )
    judged, verdicts = labelled_continuations(model, prompts, classifier, decoding, rule or ClassifiedText())
    made = []
    for i, (text, said, group) in enumerate(judged.select("text", "continuation", "group").iter_rows()):
        label = _label(verdicts, i, desirable, undesirable)
        if label is not None and said and said.strip():
            made.append(Example(text, said, group, label))
    counts = Counter(example.label for example in made)
    if not counts["negative"] or not counts["neutral"] + counts["positive"]:
        raise DataError(
            f"A search needs responses that are clearly negative (found {counts['negative']} of {judged.height}) and "
            f"responses that are clearly not (found {counts['neutral'] + counts['positive']}).",
            "Use more prompts or samples, another classifier, or your own examples.",
        )
    return tuple(made)


def labelled_continuations(
    model: LanguageModel,
    prompts: pl.DataFrame,
    classifier: Classifier,
    decoding: Decoding,
    rule: ClassifiedText,
) -> tuple[pl.DataFrame, Labels]:
    """Generate continuations of prompts and classify them.

    Returns one row per prompt and sample: the prompt's columns, `sample`, `continuation` (null where the model
    failed), and the judgements of the same rows.
    """
    answers = text_generator(model).generate(prompts["text"].to_list(), decoding)
    rows = prompts[answers.prompt.tolist()].with_columns(
        sample=pl.Series(answers.sample), continuation=pl.Series(answers.texts, dtype=pl.String)
    )
    texts = [text or "" for text in classified_texts(rows, rule)]
    contexts = rows["text"].to_list() if classifier.reads_context else None
    return rows, classifier.classify(texts, contexts)


def balance_examples(
    examples: Sequence[Example], *, most: int | None = 2000, seed: int = 0
) -> tuple[Example, ...]:
    """Return at most `most` examples of each label, weighted so that within a label all groups count equally.

    Weights are used because reducing every group to the size of the smallest could leave almost no examples.

    >>> three = [Example("", "x", "a", "negative")] * 3 + [Example("", "y", "b", "negative")]
    >>> [round(example.weight, 2) for example in balance_examples(three)]
    [0.67, 0.67, 0.67, 2.0]
    """
    draw = np.random.default_rng(seed)
    weighted: list[Example] = []
    for label in dict.fromkeys(example.label for example in examples):
        alike = [example for example in examples if example.label == label]
        by_group: dict[str, list[Example]] = {}
        for example in alike:
            by_group.setdefault(example.group, []).append(example)
        room = len(alike) if most is None else max(1, most // len(by_group))
        for part in by_group.values():
            order = sorted(draw.permutation(len(part))[:room].tolist())
            by_group[part[0].group] = [part[i] for i in order]
        total = sum(map(len, by_group.values()))
        for part in by_group.values():
            share = total / (len(by_group) * len(part))
            weighted += [replace(example, weight=share) for example in part]
    return tuple(weighted)


def examples_digest(examples: Sequence[Example]) -> str:
    """Return the SHA-256 (hex) of the examples in order."""
    content = json.dumps([asdict(example) for example in examples], ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


def _label(verdicts: Labels, i: int, desirable: float, undesirable: float) -> str | None:
    if verdicts.errors[i] is not None:
        return None
    label, score = verdicts.labels[i], float(verdicts.score[i])
    if label in ("negative", "neutral", "positive"):
        return label
    if label == "other":
        return None
    if np.isfinite(score):
        return "negative" if score > undesirable else "neutral" if score < desirable else None
    return {True: "negative", False: "neutral", None: None}[verdicts.negative[i]]
