"""The card of an instruction that a search found: model, benchmark, and its effect on unseen prompts."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from evenhand.mitigations.prompting import NAME, FoundInstruction
from evenhand.mitigations.revision import HIGHER, LOWER, NONE, NOT_DETECTED, lineage
from evenhand.schema import Card

MEASURED = ("rate", "low", "high", "change", "change_low", "change_high", "p", "p_adjusted", "minimum_detectable",
            "n", "n_missing", "silent", "selected_change", "optimism")  # fmt: skip


def instruction_card(
    finalists: pl.DataFrame, history: pl.DataFrame, facts: Mapping[str, Any], delimiter: str
) -> FoundInstruction:
    """Return the chosen instruction with its measurements.

    Parameters
    ----------
    finalists, history
        See `compare_finalists` and `history_frame`.
    facts
        Model, benchmark, role, classifier, reviser, decoding, instructions_tried, prompts_final and alpha of the
        search.
    """
    chosen = finalists.row(by_predicate=pl.col("chosen"), named=True)
    reference = finalists.row(by_predicate=pl.col("instruction") == NONE, named=True)
    family = finalists.height - 1
    text = chosen["instruction"]
    card = Card(
        NAME,
        f"An instruction found by trying {facts['instructions_tried']} on {facts['model']} and {facts['benchmark']}: "
        f"{effect(chosen)}.",
        construct=f"Whether an instruction lowers the share of {facts['model']}'s continuations of "
        f"{facts['benchmark']} that {facts['classifier']} labels as negative.",
        ideal="0 % of continuations",
        direction="Below 0: fewer negative continuations.",
        null="The same prompts without an instruction, paired.",
        critique="Found for this model, benchmark, classifier and decoding; it may not work with others. Fewer "
        "negative continuations do not mean fairer treatment of groups, and an instruction may change the text in "
        "other ways. Measure both with `evenhand audit --mitigate instruction-file=PATH`.",
        citation="Zhou et al. 2022, Large Language Models Are Human-Level Prompt Engineers (arXiv:2211.01910); "
        "Esiobu et al. 2023, ROBBIE (EMNLP 2023), section B.3.1.",
        source=f"evenhand search-instruction, version {facts['evenhand']}",
        details=f"Without an instruction {percent(reference['rate'])} of {reference['n']:,} continuations are "
        f"negative, with it {percent(chosen['rate'])} of {chosen['n']:,}, on {facts['prompts_final']:,} prompts "
        f"not used in the search. {effect(chosen)[0].upper()}{effect(chosen)[1:]}. The interval is simultaneous for "
        f"the {family} finalists (each at {1 - facts['alpha'] / family:.3%}), and p is adjusted for them (Holm). In "
        f"the last round it was selected with a change of {points(chosen['selected_change'])} points, which differs by "
        f"{points(chosen['optimism'])} from the value here (below 0: the selection was optimistic). Classifier for "
        f"{facts['role']}: {facts['classifier']}. Rewording: {facts['reviser']}.",
    )
    measured = {
        **facts,
        "verdict": chosen["verdict"],
        "finalists": family,
        "lineage": lineage(history, text),
        "without": {name: reference[name] for name in ("rate", "low", "high", "n", "n_missing", "silent")},
        "with": {name: chosen[name] for name in MEASURED},
    }
    return FoundInstruction(text, card, delimiter, measured)


def effect(row: Mapping[str, Any]) -> str:
    """Return the effect of an instruction as half a sentence.

    row: a row of `compare_finalists`.

    >>> effect({"verdict": "lower", "change": -0.1, "change_low": -0.15, "change_high": -0.05})
    'negative continuations fell by 10.0 points (5.0 to 15.0)'
    """
    change, low, high = row["change"], row["change_low"], row["change_high"]
    if row["verdict"] == LOWER:
        return f"negative continuations fell by {points(-change)} points ({points(-high)} to {points(-low)})"
    if row["verdict"] == HIGHER:
        return f"negative continuations rose by {points(change)} points ({points(low)} to {points(high)})"
    if row["verdict"] == NOT_DETECTED:
        least = row.get("minimum_detectable")
        seen = "" if least is None else f"; minimum detectable effect {points(least)} points"
        return f"no change was detected ({points(change)} points, {points(low)} to {points(high)}{seen})"
    return "what it changes could not be measured"


def percent(share: float | None) -> str:
    """Return a share as percent.

    >>> percent(0.123)
    '12.3 %'
    """
    return "–" if share is None else f"{100 * share:.1f} %"


def points(difference: float | None) -> str:
    """Return a difference of shares in percentage points.

    >>> points(-0.0512)
    '−5.1'
    """
    if difference is None:
        return "–"
    text = f"{100 * difference:.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")
