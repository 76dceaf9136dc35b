"""The words of the study of RedditBias, for page and terminal alike."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.reports import BIASED, HIGHER, LOWER, NOT_DETECTED, NOT_MEASURABLE, SYMBOLS, wording
from evenhand.studies.redditbias.bias import CORRECTED, OWN_MEASURE, PUBLISHED
from evenhand.studies.redditbias.conduct import RedditBiasStudy
from evenhand.studies.redditbias.language import MEASURES as PERPLEXITIES
from evenhand.studies.redditbias.options import BASE, OWN

Cell = Mapping[str, Any]
LABELS = {
    PUBLISHED: "LMB, t as published",
    CORRECTED: "LMB, nats per token",
    OWN_MEASURE: "valence spread, nats",
    PERPLEXITIES[0]: "LMP, lines (as published)",
    PERPLEXITIES[1]: "LMP, tokens",
    "dst_f1": "DST, F1",
    "dst_f1_over_null": "DST, F1 over always yes",
    "dst_accuracy": "DST, accuracy",
    "dst_macro_f1": "DST, macro F1",
    "dst_yes_rate": "DST, share of yes",
    "reply_length": "CRG, tokens of a reply",
    "meteor": "CRG, METEOR",
} | {
    f"{name}_{n}": f"CRG, {called}-{n}"
    for name, called in (("bleu", "BLEU"), ("nist", "NIST"), ("entropy", "entropy"), ("dist", "distinct"))
    for n in range(1, 5)
}
SHORT = {
    PUBLISHED: "LMB t",
    CORRECTED: "LMB",
    OWN_MEASURE: "spread",
    PERPLEXITIES[0]: "LMP lines",
    PERPLEXITIES[1]: "LMP",
    "dst_f1": "DST F1",
    "bleu_4": "BLEU-4",
}
"""The columns of the tables that stand for the paper's."""
COSTS = (*PERPLEXITIES, "dst_f1", "bleu_4")
LOWER_IS_WORSE = ("dst", "bleu", "nist", "meteor", "entropy", "dist")
PLACES = {"dst_f1": 3, "bleu_4": 4}


def title_of(bias: str) -> str:
    """A bias as a heading.

    >>> title_of("evenhand/religion"), title_of("religion1")
    ('religion, in our own sentences', 'religion1')
    """
    own = bias.startswith(OWN)
    return f"{wording.label(bias.removeprefix(OWN))}, in our own sentences" if own else bias


def sentences(study: RedditBiasStudy) -> Iterator[tuple[str, str]]:
    """What came of each model: a mark and a sentence."""
    for bias in study.config.bias:
        rows = study.cells.filter(bias=bias).to_dicts()
        cells = {(row["model"], row["measure"]): row for row in rows}
        for model in dict.fromkeys(row["model"] for row in rows):
            name = next(name for name in (CORRECTED, OWN_MEASURE) if (model, name) in cells)
            of_bias = cells[model, name]
            if model == BASE:
                yield _mark(of_bias["verdict"]), f"{title_of(bias)}: {_standing(of_bias)}"
            else:
                costs = [cells[model, name] for name in COSTS if (model, name) in cells]
                moved, mark = _moved(of_bias, cells[BASE, name])
                yield mark, f"{model}: {moved} {_cost(costs)}"


def _standing(cell: Cell) -> str:
    limits = wording.interval(cell["low"], cell["high"])
    told = f"{wording.number(cell['estimate'])}{f' ({limits})' if limits else ''}"
    name = LABELS[cell["measure"]]
    match cell["verdict"]:
        case "biased":
            return f"the model is biased: {name} {told}."
        case "not detected":
            return f"no bias was detected: {name} {told}."
    return f"whether the model is biased could not be measured: {name} {told}."


def _moved(cell: Cell, base: Cell) -> tuple[str, str]:
    """What became of the bias, and a mark: down where it fell."""
    before, after = base["estimate"] or 0, cell["estimate"] or 0
    limits = wording.interval(cell["change_low"], cell["change_high"])
    # of a spread it is the spread of what changed about each group, which the two spreads do not tell
    called = "change" if cell["measure"] == CORRECTED else "changes of the groups spread by"
    change = f"{called} {wording.signed(cell['change'])} ({limits})"
    if cell["change_verdict"] in (None, NOT_MEASURABLE):
        return "whether it changed the bias could not be measured.", SYMBOLS[NOT_MEASURABLE]
    if cell["change_verdict"] == NOT_DETECTED:
        return f"no change of the bias was detected; {change}.", SYMBOLS[NOT_DETECTED]
    word, mark = ("fell", LOWER) if abs(after) < abs(before) else ("grew", HIGHER)
    found = cell["verdict"] == BIASED
    turned = ", to the other side" if before * after < 0 and found else ""
    still = (
        ", and is still found"
        if found
        else ", and is not detected any more"
        if base["verdict"] == BIASED
        else ""
    )
    ways = f"from {wording.number(before)} to {wording.number(after)}"
    return f"the bias {word} {ways}{turned}{still}; {change}.", SYMBOLS[mark]


def _cost(cells: Sequence[Cell]) -> str:
    if not cells:
        return ""
    told = []
    for cell in cells:
        worse = LOWER if cell["measure"].startswith(LOWER_IS_WORSE) else HIGHER
        if cell["change_verdict"] in (LOWER, HIGHER):
            word = "worse" if cell["change_verdict"] == worse else "better"
            told.append(f"{LABELS[cell['measure']]} {word} ({change_of(cell)})")
    if not told:
        return f"No change of {wording.listing([SHORT[cell['measure']] for cell in cells])} was detected."
    return f"{'; '.join(told)}."


def change_of(cell: Cell) -> str:
    """A change in a few letters: of perplexities a factor, else a difference.

    >>> change_of({"measure": "redditbias_lmp", "change": 1.25}), change_of({"measure": "dst_f1", "change": -0.02})
    ('×1.250', '−0.020')
    """
    if cell["change"] is None:
        return ""
    if cell["measure"] in PERPLEXITIES:
        return f"×{cell['change']:.3f}"
    return wording.signed(cell["change"], PLACES.get(cell["measure"], 3))


def _mark(verdict: str | None) -> str:
    return SYMBOLS.get(verdict or NOT_MEASURABLE, "–")


def unlearned(study: RedditBiasStudy) -> str | None:
    """Of which models state tracking was not learned, as far as can be seen; None where it was by all."""
    rows = study.cells.filter(measure="dst_f1_over_null").to_dicts()
    names = [row["model"] for row in rows if row["low"] is None or row["low"] <= 0]
    if not names:
        return None
    return (
        f"DST F1 of {wording.listing(list(dict.fromkeys(names)))} is not shown to be above that of always saying yes: "
        "there the task was not learned, and a change of F1 says nothing of the debiasing."
    )


def summary_cell(cell: Cell | None) -> str:
    """A number as the paper's tables have it, with a mark for its verdict or, of costs, for its change."""
    if cell is None or cell["estimate"] is None:
        return wording.ABSENT
    places = PLACES.get(cell["measure"], 1 if cell["measure"] in PERPLEXITIES else 3)
    number = wording.number(cell["estimate"], places)
    if cell["measure"] == PUBLISHED:
        return f"{number}*" if cell["p"] is not None and cell["p"] < 0.05 else number
    verdict = cell["verdict"] if cell["measure"] in (CORRECTED, OWN_MEASURE) else cell["change_verdict"]
    return f"{number} {SYMBOLS[verdict]}" if verdict in (BIASED, LOWER, HIGHER) else number


LEGEND = (
    "LMB: below 0 stereotypes are likelier of the stereotyped group; t as published is the paired t of perplexities "
    "(* p < .05, for itself), the other a mean difference of log-perplexities with its verdict (▲ biased). "
    "LMP: perplexity, as published a mean over lines. DST: F1 of yes. BLEU-4 of replies. Beside costs ↑ and ↓ mark "
    "a change from the model by itself on the same texts, at 5 % over all debiased models (Holm)."
)
