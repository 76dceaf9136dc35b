"""Write the words of the study of names: the names of measures, and a sentence on each row."""

from collections.abc import Iterator
from typing import Any

from evenhand.reports import CHANGED, HIGHER, LOWER, NOT_DETECTED, NOT_MEASURABLE, SYMBOLS, wording
from evenhand.studies.names.cells import COSTS, PERPLEXITY
from evenhand.studies.names.conduct import NamesStudy
from evenhand.studies.names.effects import GROUP_TOKENS, OFFENCE, TOKENS
from evenhand.studies.names.options import BASE

PAPER = (
    'Smith & Williams 2021: "Hi, my name is Martha": Using names to measure and mitigate bias in generative dialogue '
    "models. arXiv:2109.03300."
)
LABELS = {
    "classifier_bias": "classifier bias, points",
    "classifier_bias_masked": "classifier bias, name hidden, points",
    "token_bins": "token bins, corrected L2",
    "token_bins_published": "token bins, published L2",
    "intersectional_token_bins": "tokens by gender and race, corrected L2",
    "intersectional_token_bins_published": "tokens by gender and race, published L2",
    "occupation_lean": "occupations, points",
    "occupation_correlation": "occupations, r",
    "offensive": "offensive replies, %",
    "stereoset_ss": "StereoSet, points beyond 50 %",
    "crows_pairs": "CrowS-Pairs, points beyond 50 %",
    PERPLEXITY: "perplexity per word",
    "words": "words of a reply",
    "empty": "empty replies, %",
    "repetition": "repeated 4-grams, %",
    "distinct_2": "distinct pairs of words, %",
    "parroting": "replies that repeat the previous line, %",
}
MOST_PLACES = 5
PLACES = {
    "classifier_bias": 2,
    "classifier_bias_masked": 2,
    "token_bins": 3,
    "token_bins_published": 3,
    "intersectional_token_bins": 3,
    "intersectional_token_bins_published": 3,
    "occupation_lean": 1,
    "occupation_correlation": 2,
    "offensive": 2,
    "stereoset_ss": 1,
    "crows_pairs": 1,
    PERPLEXITY: 1,
    "words": 1,
    "empty": 2,
    "repetition": 2,
    "distinct_2": 1,
    "parroting": 2,
}
OF_BENCHMARK = {"descriptions": "in conversations that a description opens"}
OF_PART = {
    "tier: ": "share of one gender among people with the name: ",
    "names of: ": "names by race and ethnicity: ",
}
NOTES = (
    "All models use the same decoding, names and personas. Changes are paired by name. Intervals treat names as a "
    "random sample (jackknife over 20 groups of names, or fewer if there are few names). q is corrected over the "
    "models and decodings of a measure (Holm). Replies that are missing for one of two models are not compared.",
    "Classifier bias: how much more often than by chance a classifier infers the gender of the name from a reply, in "
    "points. The default classifier counts words such as she and husband, so its points are not comparable with those "
    "of the paper. Tokens are words unless the run stored tokens.",
    "Published L2 norms are shown with the value that random permutations of the genders give. An unbiased model has "
    "that value, not 0. For the corrected norms, the unbiased value is 0.",
    "Perplexity is per word, for the replies of the original model, each scored alone by every model. It shows how far "
    "a model is from the original's language, not how good it is.",
)


def by_names(study: NamesStudy) -> str:
    """Return a sentence on the names used for comparisons between rows."""
    if study.tuned:
        return (
            f"Rows were tuned or monitored on {len(study.tuned)} of the names. They are compared by the other names; "
            "words, "
            "phrases, published norms and figures use all names."
        )
    if study.config.names == "all":
        return "Rows are compared by all names, including those on which they were tuned."
    return "All names are used, because no model is known to be tuned on some of them."


def by_chance(study: NamesStudy) -> list[str]:
    """How many changes may be called by chance, since q is of each measure by itself; nothing of fewer than two."""
    judged = study.cells.filter(study.cells["change_q"].is_not_null())
    measures = judged.select("benchmark", "measure").unique().height
    if measures < 2:
        return []
    return [
        f"{judged.height} changes of {measures} measures were tested, each measure separately: at most "
        f"{study.config.alpha * measures:.2g} measures are expected to show a change by chance if nothing changed."
    ]


def lost_replies(study: NamesStudy) -> list[str]:
    """Return the number of replies excluded from comparisons, for each row with missing or additional replies."""
    keys = ["row", "decoding", "benchmark", "change_n_missing"]
    lost = study.cells.filter(study.cells["change_n_missing"] > 0).select(keys).unique(maintain_order=True)
    return [
        f"{one['row']} ({one['decoding']}, {one['benchmark']}): {one['change_n_missing']:,} replies that only this "
        f"row, or only {BASE}, has were not compared."
        for one in lost.to_dicts()
    ]


def label_of(cell: dict[str, Any]) -> str:
    """Return the label of a cell's measure and its part.

    >>> label_of({"measure": "classifier_bias", "benchmark": "descriptions", "part": "speaker A"})
    'classifier bias, points, in conversations that a description opens, speaker A'
    """
    words = [LABELS.get(cell["measure"], wording.label(cell["measure"]))]
    words += [OF_BENCHMARK[cell["benchmark"]]] if cell["benchmark"] in OF_BENCHMARK else []
    part = cell["part"]
    for stored, shown in OF_PART.items():
        part = part.replace(stored, shown)
    return ", ".join([*words, *([part] if part else [])])


def value_of(cell: dict[str, Any] | None, *, limits: bool = True) -> str:
    """Return a number with its CI, or an en dash without one.

    >>> value_of({"measure": "words", "estimate": 12.34, "low": 11.0, "high": 13.0}), value_of(None)
    ('12.3 (95% CI 11.0 to 13.0)', '–')
    """
    if cell is None or cell["estimate"] is None:
        return wording.number(None)
    places = PLACES.get(cell["measure"], 2)
    told = wording.number(cell["estimate"], places)
    between = wording.interval(cell["low"], cell["high"], places) if limits else ""
    return f"{told} (95% CI {between})" if between else told


def change_of(cell: dict[str, Any]) -> tuple[str, str]:
    """Return a change with its CI; a ratio for perplexity."""
    places = PLACES.get(cell["measure"], 2)
    if cell["change"] is None:
        return "", ""
    if cell["measure"] == PERPLEXITY:
        ends = [
            f"×{wording.number(cell[f'change_{end}'], 2)}" for end in ("low", "high") if cell[f"change_{end}"]
        ]
        return f"×{wording.number(cell['change'], 2)}", " to ".join(ends)
    while 0 < abs(cell["change"]) < 0.5 * 10.0**-places and places < MOST_PLACES:  # it is not nothing
        places += 1
    return wording.signed(cell["change"], places), wording.interval(
        cell["change_low"], cell["change_high"], places
    )


def sentences(study: NamesStudy) -> Iterator[tuple[str, str]]:
    """Return a mark and a sentence for each row."""
    several = len(study.config.decoding) > 1
    for label in study.config.models:
        for decoding in study.config.decoding:
            of_row = (study.cells["row"] == label) & (study.cells["part"] == "")
            cells = [
                cell
                for cell in study.cells.filter(of_row).to_dicts()
                if cell["decoding"] == decoding
                or (cell["decoding"] is None and decoding == study.config.decoding[0])
            ]
            called = f"{label} ({decoding})" if several else label
            yield from _standing(called, cells) if label == BASE else [_moved(called, cells)]


def _standing(called: str, cells: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield whether replies of the original model differ with the gender of the name, then a line on each measure."""
    of_names = {cell["measure"]: cell for cell in cells if cell["benchmark"] == "names"}
    found, clear, blank = [], [], []
    for measure, (short, above, below, unit) in STANDING.items():
        cell = of_names.get(measure)
        if cell is None or cell["low"] is None:
            reason = str((cell or {}).get("obstacle") or "There are no such conversations.")
            blank.append(f"{short}: not measurable. {reason}")
        elif cell["low"] > 0:
            found.append(f"{short}: {above}: {_size(cell, unit)}.")
        elif cell["high"] < 0 and below:
            mirrored = {"estimate": -cell["estimate"], "low": -cell["high"], "high": -cell["low"]}
            size = _size(cell | mirrored, unit.replace("above", "below"))
            found.append(f"{short}: {below}: {size}.")
        else:
            clear.append(f"{short}: no difference detected: {_size(cell, unit)}. {NO_DIFFERENCE}")
    total = len(found) + len(clear) + len(blank)
    if found:
        told = f"differ in {len(found)} of {total} measures. {NO_SIDE}"
        yield SYMBOLS[CHANGED], f"{called}: replies to women's and men's names {told}"
    elif clear:
        tested = f" {len(clear)} of {total} measures could be tested." if blank else ""
        told = f"no difference between replies to women's and men's names detected.{tested}"
        yield SYMBOLS[NOT_DETECTED], f"{called}: {told}"
    else:
        told = "not measurable whether replies differ with the gender of the name."
        yield SYMBOLS[NOT_MEASURABLE], f"{called}: {told}"
    for verdict, lines in ((CHANGED, found), (NOT_DETECTED, clear), (NOT_MEASURABLE, blank)):
        for line in lines:
            yield SYMBOLS[verdict], line


def _size(cell: dict[str, Any], unit: str) -> str:
    """Return a number in words with its CI."""
    places = PLACES[cell["measure"]]
    between = wording.interval(cell["low"], cell["high"], places)
    return f"{unit.format(wording.number(cell['estimate'], places))}, 95% CI {between}"


NO_SIDE = "These measures show differences; they do not show that one gender is treated worse."
NO_DIFFERENCE = "Without a difference, it is 0."
STANDING = {
    "classifier_bias": (
        "Gender inferred from a reply",
        "a classifier infers the gender of the name from a reply better than by chance",
        "a classifier infers the other gender from a reply more often than by chance",
        "{} points above chance",
    ),
    "token_bins": (
        "Words",
        "the words of replies to women's and men's names differ",
        "",
        "distance {} (L2 norm, corrected for chance)",
    ),
    "occupation_lean": (
        "Occupations",
        "women's names get occupations in which more women work than men's names do",
        "women's names get occupations in which fewer women work than men's names do",
        "difference of {} points in women's share of these occupations at work",
    ),
}
"""By measure: its short name, what a number above and below 0 means, and its unit."""


SHORT = {
    "classifier_bias": "classifier bias",
    "token_bins": "differences of words",
    "intersectional_token_bins": "differences of words by gender and race",
    "occupation_lean": "occupations that fit the gender",
    "offensive": "offensive replies",
    "stereoset_ss": "StereoSet",
    "crows_pairs": "CrowS-Pairs",
    **{name: LABELS[name] for name in COSTS},
}
"""What sentences name; the rest is in the tables."""
NORMS = (TOKENS, GROUP_TOKENS)
"""Corrected for chance, so that they lie about 0, and not on both sides of it, where there is no difference."""
NEARER, FARTHER, OPEN, TEXT = (
    "Less bias",
    "More bias",
    "Unclear whether less or more bias",
    "Cost in the text",
)
HEADINGS = (NEARER, FARTHER, OPEN, TEXT)
OF_DISTANCE = {True: NEARER, False: FARTHER, None: OPEN}


def nearer(cell: dict[str, Any]) -> bool | None:
    """Return whether a changed row is nearer to no difference than the base row; None if this is undecided.

    What counts is the distance from 0, on whichever side: from +1 to -6 is farther. Corrected norms below 0 are as good
    as 0, and a share of offensive replies is the better the lower. The base row is taken as it was measured; where the
    95 % interval of the change also holds changes that would leave the row as far off on the other side, it is open.

    >>> told = {"measure": "classifier_bias", "change_verdict": "lower", "change_low": -3.0, "change_high": -1.0}
    >>> nearer(told | {"change_from": 3.0}), nearer(told | {"change_from": -0.5})
    (True, False)
    """
    low, high = cell["change_low"], cell["change_high"]
    base = cell["change_from"]
    if base is None and cell["estimate"] is not None:
        base = cell["estimate"] - cell["change"]
    if base is None or low is None or high is None:
        return None
    first, last = (min(high, 0.0), low) if cell["change_verdict"] == LOWER else (max(low, 0.0), high)
    before, least, most = (_distance(cell["measure"], base + change) for change in (0.0, first, last))
    return True if most < before else False if least > before else None


def _distance(measure: str, value: float) -> float:
    """How far from what an unbiased model has."""
    return value if measure == OFFENCE else max(0.0, value) if measure in NORMS else abs(value)


def _moved(called: str, cells: list[dict[str, Any]]) -> tuple[str, str]:
    found: dict[str, list[str]] = {heading: [] for heading in HEADINGS}
    for cell in cells:
        if cell["change_verdict"] in (None, NOT_DETECTED) or cell["measure"] not in SHORT:
            continue
        name = ", ".join(
            [SHORT[cell["measure"]], *([OF_BENCHMARK[b]] if (b := cell["benchmark"]) in OF_BENCHMARK else [])]
        )
        change, limits = change_of(cell)
        heading = TEXT if cell["measure"] in COSTS else OF_DISTANCE[nearer(cell)]
        found[heading].append(f"{name} {change} (95% CI {limits})" if limits else f"{name} {change}")
    parts = [f"{heading}: {'; '.join(told)}" for heading, told in found.items() if told]
    mark = SYMBOLS[HIGHER] if found[FARTHER] else SYMBOLS[LOWER] if found[NEARER] else "·"
    return mark, f"{called}. {'. '.join(parts) or 'No change detected'}."
