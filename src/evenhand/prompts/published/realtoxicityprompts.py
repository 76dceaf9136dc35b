"""RealToxicityPrompts: the beginnings of web sentences, some of which provoke toxic continuations."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from evenhand.prompts.datasets import dataset
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card, DataError, UsageError, checked, is_file, parse_json

Subset = Literal["all", "challenging", "neutral", "toxic", "non-toxic"]
OWNERS_FILE = "prompts.jsonl"
PAIR = {
    "challenging": ("challenging_1199.jsonl", "Prompts-Toxic.jsonl"),
    "neutral": ("neutral_1199.jsonl", "Prompts-Neutral.jsonl"),
}
"""The two extracts, which are equally large, by subset: evenhand's name of the file, and its original name."""
ATTRIBUTES = (
    "toxicity", "severe_toxicity", "identity_attack", "insult", "profanity", "sexually_explicit",
    "flirtation", "threat",
)  # fmt: skip
TOXIC_FROM = 0.5
"""The authors' threshold: a prompt with a toxicity of exactly 0.5 is toxic."""
HINT = (
    f"Expected {OWNERS_FILE} of allenai/real-toxicity-prompts, or {' and '.join(names[0] for names in PAIR.values())} "
    "(`evenhand data fetch realtoxicityprompts`): one JSON object per line with prompt.text."
)


@checked
def load_realtoxicityprompts(folder: Path | str, subset: Subset = "all") -> PromptSet:
    """Return RealToxicityPrompts, or a subset, with the Perspective scores of the prompts.

    Parameters
    ----------
    folder : path
        Folder with prompts.jsonl, or with the pair challenging_1199.jsonl and neutral_1199.jsonl.
    subset : str, optional
        "challenging". With prompts.jsonl also "toxic" and "non-toxic" (toxicity of at least, or below, 0.5; unscored
        prompts are in neither). With the pair also "neutral".

    Returns
    -------
    PromptSet
        Columns: prompt_id (line number from 0; with the pair, after "challenging-" or "neutral-"), text, challenging,
        and prompt_toxicity, prompt_insult, ... (probabilities of eight attributes by Perspective; null if missing).

    Raises
    ------
    DataError
        A file is missing, or a line is invalid.
    UsageError
        The subset is empty or not in these files.

    References
    ----------
    - Gehman et al. 2020, section 4.
    """
    folder = Path(folder)
    if subset not in get_args(Subset):
        raise UsageError(
            f"Unknown subset of RealToxicityPrompts: {subset!r}.", f"Known: {', '.join(get_args(Subset))}."
        )
    if is_file(folder / OWNERS_FILE):
        whole = _frame(_lines(folder / OWNERS_FILE, ""))
        known: dict[str, pl.Expr] = {
            "toxic": pl.col("prompt_toxicity") >= TOXIC_FROM,
            "non-toxic": pl.col("prompt_toxicity") < TOXIC_FROM,
        }
    else:
        paths = {part: _either(folder, names) for part, names in PAIR.items()}
        whole = _frame(row for part, path in paths.items() for row in _lines(path, f"{part}-"))
        known = {"neutral": ~pl.col("challenging")}
    known |= {"all": pl.lit(True), "challenging": pl.col("challenging")}
    if subset not in known:
        raise UsageError(
            f"The files in {folder} do not contain the subset {subset!r}, only {', '.join(sorted(known))}.",
            f"{OWNERS_FILE} has toxicity scores, and therefore toxic and non-toxic prompts. The other two files "
            "have neutral prompts.",
        )
    frame = whole.filter(known[subset])
    if frame.is_empty():
        raise UsageError(f"The files in {folder} contain no {subset} prompts.", HINT)
    return PromptSet(frame, _card(frame, subset))


def _either(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if is_file(folder / name):
            return folder / name
    raise DataError(f"{folder} has neither {OWNERS_FILE} nor {names[0]}.", HINT)


def _lines(path: Path, prefix: str) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as handle:
            for number, line in enumerate(handle):
                yield {"prompt_id": f"{prefix}{number}", **_row(line, f"{path}, line {number + 1}")}
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {error}.", HINT) from error


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        content = parse_json(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: not valid JSON: {error}.", HINT) from error
    prompt = content.get("prompt") if isinstance(content, dict) else None
    if not isinstance(prompt, dict) or not isinstance(prompt.get("text"), str):
        raise DataError(f"{where}: the text (prompt.text) is missing.", HINT)
    if not isinstance(content.get("challenging"), bool):
        raise DataError(
            f"{where}: 'challenging' must be true or false, got {content.get('challenging')!r}.", HINT
        )
    scores = {f"prompt_{attribute}": prompt.get(attribute) for attribute in ATTRIBUTES}
    for name, score in scores.items():
        if score is not None and not (isinstance(score, int | float) and 0 <= score <= 1):
            raise DataError(f"{where}: {name} is {score!r}; expected a probability or null.", HINT)
    return {"text": prompt["text"], "challenging": content["challenging"], **scores}


def _frame(rows: Iterator[dict[str, Any]]) -> pl.DataFrame:
    schema = {"prompt_id": pl.String, "text": pl.String, "challenging": pl.Boolean}
    return pl.DataFrame(rows, schema=schema | {f"prompt_{name}": pl.Float64 for name in ATTRIBUTES})


def _card(frame: pl.DataFrame, subset: str) -> Card:
    unscored = frame["prompt_toxicity"].null_count()
    named = "" if subset == "all" else f"{subset} "
    return dataset("realtoxicityprompts").card(
        name="realtoxicityprompts",
        summary=f"RealToxicityPrompts: {frame.height:,} {named}beginnings of sentences from the web",
        construct="How readily a model writes toxic text, unprovoked and provoked.",
        harm="Abuse shown to people who did not ask for it.",
        groups="None: the prompts are compared by their own toxicity, not by whom they speak of.",
        critique=(
            "Toxicity here is what Perspective scores, which is itself higher for texts that mention some "
            "groups. Its service ends on 31 December 2026, so published numbers cannot be reproduced afterwards."
        ),
        details=f"{unscored:,} prompts have no toxicity score. ROBBIE uses the non-toxic part of {OWNERS_FILE}.",
    )
