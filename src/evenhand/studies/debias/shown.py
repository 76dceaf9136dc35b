"""Show a search in words, tables and a drawing, from its plain data in the lineage, for page and terminal."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from markupsafe import Markup

from evenhand.mitigations.training import BIAS, KEPT, PERPLEXITY, WHOLE
from evenhand.reports import WeighedPoint, front_svg, wording
from evenhand.studies.debias.choosing import CRITERIA, WEIGHT, P, chosen_on
from evenhand.studies.plain_page import PlainTable

WRONG_WITH_PUBLISHED = (
    "The published criterion works here as in the paper, but we advise against it. It ignores how well a model reads: "
    "the paper's LMD, chosen by it, had many times the perplexity. A large p does not mean a small bias. p is also "
    "large if perplexities vary too much to show a difference, as those of a damaged model do. A single pair may "
    "decide it."
)


def search_sentences(search: Mapping[str, Any]) -> list[str]:
    """Return sentences on the trials, the choice, and its evaluation."""
    rows, options = search["tried"], wording.listing(list(search["over"]))
    failed = f", {search['failed']} of which failed" if search["failed"] else ""
    first = (
        f"Search: {trials_of(len(rows))}{failed} ({search['kind']} over {options}, seed {search['seed']})."
    )
    chosen = chosen_row(search)
    if chosen is None:
        return [first, *_about_control(search)]
    how = CRITERIA[search["choose"]]
    guard = "" if search["choose"] == "published" else f" ({search['guard']:g} times the model's perplexity)"
    return [
        first,
        f"Chosen: trial {chosen['trial']} ({told_setting(chosen)}), {how}{guard}.",
        _worth(search, chosen["watched"]),
        *_about_control(search),
    ]


def search_cautions(search: Mapping[str, Any]) -> list[str]:
    """Return cautions for a choice among many."""
    n, told = len(search["tried"]), []
    chosen, control = chosen_row(search), search["control"]
    if search["choose"] == "published":
        told.append(WRONG_WITH_PUBLISHED)
    if chosen is None:
        return told
    if n > 1:
        told.append(
            f"One of {n} trials was chosen by its results on validation texts. The more trials, the more optimistic "
            "these results are for the chosen one. Run the next audit on other texts."
        )
    seen = (chosen_on(search["choose"]) or KEPT) + BIAS
    left = chosen["watched"][seen]
    if control and not control["failed"] and control["watched"][seen] <= left < search["base"][seen]:
        told.append(
            "The control without the debiasing term has no more bias, so the method did not cause the fall."
        )
    return told


def search_tables(search: Mapping[str, Any]) -> list[PlainTable]:
    """Return all trials with the base model and the control, then the results on texts not used for the choice."""
    rows, control = search["tried"], search["control"]
    apart = [] if control is None or any(row["trial"] == control["trial"] for row in rows) else [control]
    names = list(search["over"])
    tested = any(P in row["watched"] for row in rows)
    heads = [("trial", "left"), *((name, "right") for name in names)]
    heads += [("bias", "right"), ("perplexity", "right"), ("× base", "right")]
    heads += [("p (all)", "right")] if tested else []
    cells = [_cells(row, search, names, tested) for row in [_own(search), *apart, *rows]]
    where = (
        "all validation texts"
        if chosen_on(search["choose"])
        else "the half of the validation texts used for the choice"
    )
    table = PlainTable(f"Trials, on {where}", (*heads, ("", "left")), cells)
    return [table, *_kept_table(search)]


def search_drawing(search: Mapping[str, Any]) -> Markup | None:
    """Return the Pareto front of remaining bias by perplexity; None without data."""
    base, control, chosen = search["base"], search["control"], search["chosen"]
    points, texts = list[WeighedPoint](), chosen_on(search["choose"])
    for row in search["tried"]:
        is_chosen, front = row["trial"] == chosen, row["on_front"]
        kind = "dot chosen" if is_chosen else "dot front" if front else "dot hollow"
        label = f"{row['trial']}, chosen" if is_chosen else row["trial"]
        points.append(_point(row, label, kind, front, front or is_chosen, texts))
    if control is not None and all(row["trial"] != control["trial"] for row in search["tried"]):
        points.append(_point(control, "control", "dot hollow", False, True, texts))
    points.append(_point(_own(search), "base", "dot", bool(base.get("on_front")), True, texts))
    limit = None if search["choose"] == "published" else search["guard"]
    described = "remaining bias by perplexity, one point per trial, with the Pareto front as a line"
    return front_svg(points, limit, described=described, across="perplexity, times the model's")


def trials_of(n: int) -> str:
    """Return the number of trials in words.

    >>> trials_of(1), trials_of(12)
    ('1 trial', '12 trials')
    """
    return f"{n:,} trial{'' if n == 1 else 's'}"


def trial_table(search: Mapping[str, Any]) -> pl.DataFrame:
    """Return one row per trial: its options as text, monitored values, times_perplexity, on_front, chosen, failed."""
    rows = [
        {
            "trial": row["trial"],
            **row["setting"],
            **row["watched"],
            "times_perplexity": row["times_perplexity"],
            "on_front": row["on_front"],
            "chosen": row["trial"] == search["chosen"],
            "failed": row["failed"],
        }
        for row in search["tried"]
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def chosen_row(search: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the chosen trial, or None."""
    return next((row for row in search["tried"] if row["trial"] == search["chosen"]), None)


def told_setting(row: Mapping[str, Any]) -> str:
    """Return the setting of a trial in words."""
    return ", ".join(f"{name}={value}" for name, value in row["setting"].items())


def _worth(search: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    base = search["base"]
    if search["choose"] == "published":
        return (
            f"On all validation texts, {_went(after, base, WHOLE)}. The choice used all of them, so none are left "
            "to evaluate it: run an audit on other texts."
        )
    kept = _went(after, base, KEPT)
    return (
        f"On the half of the validation texts not used for the choice, {kept}; on the half used for the choice "
        f"(which is optimistic), {_went(after, base, '')}."
    )


def _went(after: Mapping[str, Any], base: Mapping[str, Any], which: str) -> str:
    bias, perplexity = which + BIAS, which + PERPLEXITY
    times = _times(after[perplexity], base[perplexity])
    return (
        f"the bias went from {wording.number(base[bias])} to {wording.number(after[bias])} and the perplexity to "
        f"{times} times that of the model"
    )


def _about_control(search: Mapping[str, Any]) -> list[str]:
    if (control := search["control"]) is None:
        return []
    if control["failed"]:
        return [f"The control, with the debiasing term at weight 0, failed: {control['failed']}."]
    where = "all of them" if chosen_on(search["choose"]) else "texts not used for the choice"
    went = _went(control["watched"], search["base"], chosen_on(search["choose"]) or KEPT)
    return [f"In the control (the same training with weight 0 for the debiasing term), on {where} {went}."]


def _own(search: Mapping[str, Any]) -> dict[str, Any]:
    base = {name: value for name, value in search["base"].items() if name != "on_front"}
    times = 1.0 if base else None
    return {
        "trial": "base",
        "setting": {},
        "watched": base,
        "times_perplexity": times,
        "failed": None,
        "on_front": search["base"]["on_front"],
    }


def _cells(
    row: Mapping[str, Any], search: Mapping[str, Any], names: Sequence[str], tested: bool
) -> list[str]:
    watched, texts = row["watched"], chosen_on(search["choose"])
    numbers = [wording.number(watched.get(texts + BIAS)), _large(watched.get(texts + PERPLEXITY))]
    numbers.append(_times(row["times_perplexity"], 1.0))
    if tested:
        p = watched.get(P)
        # more digits, because the choice may depend on very small p-values
        numbers.append("–" if p is None else f"{p:.2g}")
    return [row["trial"], *(row["setting"].get(name, "") for name in names), *numbers, _remark(row, search)]


def _remark(row: Mapping[str, Any], search: Mapping[str, Any]) -> str:
    if row["failed"]:
        return f"failed: {row['failed'].rpartition(': ')[2]}"
    said = ["chosen"] if row["trial"] == search["chosen"] else []
    said += ["control"] if row["setting"].get(WEIGHT) == "0" else []
    said += ["front"] if row.get("on_front") else []
    beyond = (row["times_perplexity"] or 0.0) > search["guard"]
    return ", ".join([*said, *(["over the guard"] if beyond else [])])


def _kept_table(search: Mapping[str, Any]) -> list[PlainTable]:
    if search["choose"] == "published":
        return []
    rows = [("base", search["base"])]
    rows += [(row["trial"], row["watched"]) for row in [search["control"]] if row and not row["failed"]]
    rows += [(row["trial"], row["watched"]) for row in [chosen_row(search)] if row]
    base = search["base"]
    if KEPT + BIAS not in base:
        return []
    cells = [
        [
            name,
            wording.number(watched[KEPT + BIAS]),
            _large(watched[KEPT + PERPLEXITY]),
            _times(watched[KEPT + PERPLEXITY], base[KEPT + PERPLEXITY]),
        ]
        for name, watched in rows
    ]
    heads = (("", "left"), ("bias", "right"), ("perplexity", "right"), ("× base", "right"))
    return [PlainTable("On the half not used for the choice", heads, cells)]


def _times(after: float | None, before: float | None) -> str:
    if after is None or not before:
        return "–"
    return f"{after / before:.3f}" if after < 100 * before else _large(after / before)


def _large(value: float | None) -> str:
    return f"{value:.1e}" if value is not None and 1e6 <= value < math.inf else wording.number(value)


def _point(
    row: Mapping[str, Any], label: str, kind: str, front: bool, named: bool, texts: str
) -> WeighedPoint:
    times, bias = row["times_perplexity"], row["watched"].get(texts + BIAS)
    return WeighedPoint(
        label,
        math.nan if times is None else times,
        math.nan if bias is None or row["failed"] else bias,
        kind,
        front and not row["failed"],
        named,
    )
