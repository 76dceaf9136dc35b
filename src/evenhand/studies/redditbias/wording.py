"""Labels and sentences of the study of RedditBias, for page and terminal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.reports import BIASED, HIGHER, LOWER, NOT_DETECTED, NOT_MEASURABLE, SYMBOLS, wording
from evenhand.studies.redditbias.bias import CORRECTED, EFFECT_SIZE, LIKELIER, OWN_MEASURE, PUBLISHED
from evenhand.studies.redditbias.cells import is_perplexity
from evenhand.studies.redditbias.conduct import RedditBiasStudy
from evenhand.studies.redditbias.language import MEASURES as PERPLEXITIES, OWN_MEASURES as OWN_PERPLEXITIES
from evenhand.studies.redditbias.options import BASE, CONTROL, OWN, is_plain

Cell = Mapping[str, Any]
LABELS = {
    PUBLISHED: "LMB, t as published",
    CORRECTED: "LMB, nats per token",
    EFFECT_SIZE: "LMB, standard deviations (d_z)",
    LIKELIER: "phrases more likely for the group, %",
    OWN_MEASURE: "valence spread, nats",
    PERPLEXITIES[0]: "LMP, lines (as published)",
    PERPLEXITIES[1]: "LMP, tokens",
    OWN_PERPLEXITIES[0]: "perplexity of our own sentences, each once",
    OWN_PERPLEXITIES[1]: "perplexity of our own sentences, tokens",
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
    EFFECT_SIZE: "d_z",
    LIKELIER: "more likely, %",
    OWN_MEASURE: "spread",
    PERPLEXITIES[0]: "LMP lines",
    PERPLEXITIES[1]: "LMP",
    OWN_PERPLEXITIES[0]: "PPL lines",
    OWN_PERPLEXITIES[1]: "PPL",
    "dst_f1": "DST F1",
    "bleu_4": "BLEU-4",
}
"""Heading of the column of each measure in the tables that correspond to the paper's."""
COSTS = (*PERPLEXITIES, *OWN_PERPLEXITIES, "dst_f1", "bleu_4")
LOWER_IS_WORSE = ("dst", "bleu", "nist", "meteor", "entropy", "dist")
PLACES = {"dst_f1": 3, "bleu_4": 4, EFFECT_SIZE: 2, LIKELIER: 1}
MUCH = 1.25
"""Ratio of perplexity over tokens, up or down, above which a warning is printed.

Such a change alone can change all differences of log-perplexities.
"""
TEXTS_ALONE, WARNING = "·", "!"
"""Symbols in front of a sentence: about a control (the effect of the texts alone), and for a warning."""


def title_bias(bias: str) -> str:
    """Return the title of a bias.

    >>> title_bias("evenhand/religion"), title_bias("religion1")
    ('religion, in our own sentences', 'religion1')
    """
    own = bias.startswith(OWN)
    return f"{wording.label(bias.removeprefix(OWN))}, in our own sentences" if own else bias


def sentences(study: RedditBiasStudy) -> Iterator[tuple[str, str]]:
    """Yield the result of each model: a symbol of its verdict, and a sentence.

    The base model of each bias comes first, then its controls, then the debiased models. A warning follows if
    perplexities changed a lot.
    """
    for bias in study.config.bias:
        rows = study.cells.filter(bias=bias).to_dicts()
        cells = {(row["model"], row["measure"]): row for row in rows}
        models = list(dict.fromkeys(row["model"] for row in rows))
        for model in sorted(models, key=lambda name: (name != BASE, not _is_control(name))):
            name = next(name for name in (CORRECTED, OWN_MEASURE) if (model, name) in cells)
            of_bias = cells[model, name]
            if model == BASE:
                yield _mark(of_bias["verdict"]), f"{title_bias(bias)}: {_describe_base(of_bias)}"
                continue
            costs = [cells[model, name] for name in COSTS if (model, name) in cells]
            moved, mark = _BiasChange(cells, model, name).describe()
            yield mark, f"{model}: {moved} {_describe_costs(costs)}"
        if warning := _warn_of_perplexity(rows):
            yield WARNING, f"{title_bias(bias)}: {warning}"


def _is_control(model: str) -> bool:
    return model.startswith(CONTROL) or (model != BASE and is_plain(model))


def _warn_of_perplexity(rows: Sequence[Cell]) -> str:
    """Return a warning if a perplexity changed by a factor of MUCH or more; empty otherwise.

    It names the models, and states how this affects differences of log-perplexities.
    """
    moved = [
        f"{row['model']} ({format_change(row)})"
        for row in rows
        if row["measure"] in (PERPLEXITIES[1], OWN_PERPLEXITIES[1])
        and row["change"] is not None
        and not 1 / MUCH < row["change"] < MUCH
    ]
    if not moved:
        return ""
    return (
        f"perplexity changed a lot under {wording.listing(moved)}. This alone changes differences of log-perplexities, "
        "with the same preference. Also read d_z, the share of phrases, and the control."
    )


def _describe_base(cell: Cell) -> str:
    limits = wording.interval(cell["low"], cell["high"])
    told = f"{wording.number(cell['estimate'])}{f' (95% CI {limits})' if limits else ''}"
    name = LABELS[cell["measure"]]
    match cell["verdict"]:
        case "biased":
            return f"biased: {name} {told}."
        case "not detected":
            return f"no bias detected: {name} {told}."
    return f"not measurable: {name} {told}."


@dataclass(frozen=True)
class _BiasChange:
    """Change of one bias in one model.

    Attributes
    ----------
    cells
        Rows of the table of results (`cells.CELLS`) for this bias, by model and measure.
    model
        Name of the model.
    measure
        Measure whose change is tested: CORRECTED or OWN_MEASURE.
    """

    cells: Mapping[tuple[str, str], Cell]
    model: str
    measure: str

    def describe(self) -> tuple[str, str]:
        """Return a sentence on how the bias of the model changed, and a symbol.

        The symbol is that of LOWER (HIGHER) only if the bias is significantly smaller (larger) than that of the control
        and of the original model, both in nats per token and in standard deviations. Otherwise it is TEXTS_ALONE for a
        control, or the symbol of "not detected" or "not measurable".
        """
        cell, base = self.cells[self.model, self.measure], self.cells[BASE, self.measure]
        called, turned = LABELS[self.measure], self._describe_sign_change(cell, base)
        now = wording.number(cell["estimate"])
        ways = (
            f"{called} from {wording.number(base['estimate'])} to {now} ({self._describe_size(cell, 'size')})"
        )
        if _is_control(self.model):
            return (
                f"effect of the texts alone: {ways}{self._describe_other_units(BASE)}{turned}.",
                TEXTS_ALONE,
            )
        control = self.cells.get((cell["control"] or "", self.measure))
        if control is None:
            none = "no control was trained, so the effect of the method is unknown"
            return f"{ways}{self._describe_other_units(BASE)}{turned}; {none}.", SYMBOLS[NOT_MEASURABLE]
        other, verdict = control["model"], cell["beyond_verdict"]
        against = f"{wording.number(control['estimate'])} ({other})"
        size = f"{self._describe_size(cell, 'beyond')}{self._describe_other_units(other)}"
        numbers = f"{now} compared with {against}, {size}"
        if verdict in (None, NOT_MEASURABLE):
            return f"effect beyond that of the texts not measurable{turned}.", SYMBOLS[NOT_MEASURABLE]
        if verdict == NOT_DETECTED:
            text = f"no difference from the control detected: {called} {numbers}{turned}."
            return text, SYMBOLS[NOT_DETECTED]
        if not self._has_agreeing_units(other, verdict):
            size = "smaller" if verdict == LOWER else "larger"
            text = (
                f"the difference in nats per token is {size} than the control's: {numbers}; in standard deviations, "
                f"or in the share of phrases, this is not significant, so no change in bias is shown{turned}."
            )
            return text, SYMBOLS[NOT_DETECTED]
        still = " and is still detected" if cell["verdict"] == BIASED else ""
        if not still and base["verdict"] == BIASED:
            still = " and is no longer detected"
        if not self._differs_from_base(verdict):
            less = "less" if verdict == LOWER else "more"
            text = (
                f"{less} bias than with the texts alone{still}: {called} {numbers}; but not significantly {less} than "
                f"in the original model ({ways}{self._describe_other_units(BASE)}){turned}."
            )
            return text, SYMBOLS[NOT_DETECTED]
        word = "fell" if verdict == LOWER else "rose"
        beyond = "" if other == BASE else ", more than with the texts alone,"
        return f"the bias {word}{beyond}{still}: {called} {numbers}{turned}.", SYMBOLS[verdict]

    def _differs_from_base(self, verdict: str) -> bool:
        """Return whether the change from the original model has this verdict, in nats per token and in d_z."""
        effect = self.cells.get((self.model, EFFECT_SIZE))
        sizes = [
            one["size_verdict"] for one in (self.cells[self.model, self.measure], effect) if one is not None
        ]
        return all(size == verdict for size in sizes)

    def _describe_sign_change(self, cell: Cell, base: Cell) -> str:
        """Return a clause on the change of sign of the bias; empty without one.

        The sign counts as changed only if the change from the original model is significant.
        """
        if self.measure != CORRECTED or cell["change_verdict"] not in (HIGHER, LOWER):
            return ""
        if (cell["estimate"] or 0) * (base["estimate"] or 0) >= 0:
            return ""
        shown = ", where it is detected" if cell["verdict"] == BIASED else ", where it is not detected"
        ways = " to ".join(wording.number(one["estimate"]) for one in (base, cell))
        return f"; its sign changed, from {ways}{shown}"

    def _describe_size(self, cell: Cell, what: str) -> str:
        """Return the change of the distance from no bias, with its CI, as text.

        what: prefix of its columns, `size` (from the base model) or `beyond` (from the control).
        """
        if cell[what] is None or cell[f"{what}_low"] is None:
            return "no interval"
        size = "size" if self.measure == CORRECTED else "spread"
        limits = wording.interval(cell[f"{what}_low"], cell[f"{what}_high"])
        return f"its {size} {wording.signed(cell[what])}, 95% CI {limits}"

    def _describe_other_units(self, other: str) -> str:
        """Return a clause with the change from another model to this one, in d_z and in percent of phrases."""
        told = []
        for name, unit in ((EFFECT_SIZE, ""), (LIKELIER, "% of phrases more likely for the group")):
            pair = [self.cells.get((model, name)) for model in (other, self.model)]
            if None not in pair:
                ends = [wording.number(one["estimate"], PLACES[name]) for one in pair if one is not None]
                told.append(f"{'d_z ' if name == EFFECT_SIZE else ''}{ends[0]} to {ends[1]}{unit}")
        return f"; {'; '.join(told)}" if told else ""

    def _has_agreeing_units(self, control: str, verdict: str) -> bool:
        """Return whether d_z and the share of phrases support the verdict of a difference from the control.

        d_z must differ significantly in the same direction. The share of phrases that are more likely for the group
        must not differ in the opposite direction.
        """
        effect = self.cells.get((self.model, EFFECT_SIZE))
        if effect is None:  # evenhand's own sentences have no effect size to compare
            return True
        shares = [self.cells[model, LIKELIER]["estimate"] for model in (control, self.model)]
        if effect["beyond_verdict"] != verdict or None in shares:
            return False
        before, after = (abs(share - 50) for share in shares)
        return bool(after <= before if verdict == LOWER else after >= before)


def _describe_costs(cells: Sequence[Cell]) -> str:
    if not cells:
        return ""
    told = []
    for cell in cells:
        worse = LOWER if cell["measure"].startswith(LOWER_IS_WORSE) else HIGHER
        if cell["change_verdict"] in (LOWER, HIGHER):
            word = "worse" if cell["change_verdict"] == worse else "better"
            told.append(f"{LABELS[cell['measure']]} {word} ({format_change(cell)})")
    if not told:
        return f"No change detected in {wording.listing([SHORT[cell['measure']] for cell in cells])}."
    return f"{'; '.join(told)}."


def format_change(cell: Cell) -> str:
    """Return a change in short form: a factor for perplexities, otherwise a difference.

    >>> format_change({"measure": "redditbias_lmp", "change": 1.25})
    '×1.250'
    >>> format_change({"measure": "dst_f1", "change": -0.02})
    '−0.020'
    """
    if cell["change"] is None:
        return ""
    if is_perplexity(cell["measure"]):
        return f"×{cell['change']:.3f}"
    return wording.signed(cell["change"], PLACES.get(cell["measure"], 3))


def _mark(verdict: str | None) -> str:
    return SYMBOLS.get(verdict or NOT_MEASURABLE, "–")


def describe_unlearned(study: RedditBiasStudy) -> str | None:
    """Return a sentence naming the models that did not detectably learn state tracking; None if all learned it."""
    rows = study.cells.filter(measure="dst_f1_over_null").to_dicts()
    names = [row["model"] for row in rows if row["low"] is None or row["low"] <= 0]
    if not names:
        return None
    return (
        f"DST F1 of {wording.listing(list(dict.fromkeys(names)))} is not significantly above that of always "
        "answering yes. "
        "The task was not learned, so a change in F1 shows nothing about the debiasing."
    )


def summary_cell(cell: Cell | None) -> str:
    """Return the text of a table cell: a number as in the paper's tables, with a symbol.

    The symbol shows that a bias is detected or, for costs, the direction of a detected change. PUBLISHED has a star if
    p is below 0.05.
    """
    if cell is None or cell["estimate"] is None:
        return wording.ABSENT
    places = PLACES.get(cell["measure"], 1 if is_perplexity(cell["measure"]) else 3)
    number = wording.number(cell["estimate"], places)
    if cell["measure"] == PUBLISHED:
        return f"{number}*" if cell["p"] is not None and cell["p"] < 0.05 else number
    verdict = cell["verdict"] if cell["measure"] in (CORRECTED, OWN_MEASURE) else cell["change_verdict"]
    return f"{number} {SYMBOLS[verdict]}" if verdict in (BIASED, LOWER, HIGHER) else number


LEGEND = (
    "LMB: below 0, stereotypes are more likely for the stereotyped group. As published, it is the paired t of "
    "perplexities "
    "(* p < .05, not adjusted; null 0, no interval). The other LMB is a mean difference of log-perplexities with its "
    "verdict (▲ biased). d_z: the same divided by the standard deviation over phrases. LMP: perplexity, as published a "
    "mean over lines. DST: F1 of yes. BLEU-4 of replies. Next to costs, ↑ and ↓ mark a change from the original model "
    "on the same texts, at 5% for all trained models together (Holm). The effect of a method on bias is its effect "
    "beyond a control."
)
CONTROLS = (
    "A control was trained on the same texts for the same number of steps without a method: the weight of the "
    "debiasing "
    "term is 0. For a method without a weight (cda), it reads the texts without counterparts more often. 'Fell' and "
    "'rose' compare the size of the bias, on either side, with that of the control. The comparison is by phrase (own "
    "sentences: by pair), at 5% for all trained models together, both in nats per token and in d_z."
)
NO_CONTROL = "No control was trained (--no-control), so no change can be attributed to a method."
ONE_TRAINING = (
    "All intervals are over phrases, sentences or lines of one training with one seed. A model trained with another "
    "seed "
    "may be outside them. Train with several seeds (--seed 1, --seed 2, ..., each with its own folder)."
)
