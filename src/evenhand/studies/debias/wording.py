"""Sentences on a debiasing training: changes and cautions."""

from collections.abc import Mapping
from typing import Any

from evenhand.mitigations.training import BIAS, PERPLEXITY, describe_label
from evenhand.reports import wording
from evenhand.studies.debias.shown import search_cautions, search_sentences

WATCHED = {
    BIAS: "bias, as watched",
    "largest_shift": "largest shift of one descriptor, nats a sentence",
    PERPLEXITY: "perplexity, as watched",
    "difference": "difference of log perplexities, nats a token",
    "t": "t of the published test, of these pairs",
    "p": "p of the published test, of these pairs",
    "margin": "preferred text over the other, nats a text",
}
"""What is watched, in words."""
PROJECTED = {
    "accuracy": "accuracy of a classifier of the group on held-out sentences, by iteration",
    "removed": "directions removed, by iteration",
    "explained": "share of the difference between groups, by components",
}
"""What projections were watched by, in words."""
MOST_LOSS = 0.05
"""Rise of the perplexity above which it is reported."""
REACHED = {
    "counterfactuals": "contain no word that could be replaced. Terms are matched as whole words or their plurals, in "
    "the listed case or with a capital (`evenhand show cda` lists other ways). These texts have no counterfactual and "
    "are learned as they are",
    "texts_with_terms": "contain no term after another word (terms are matched as whole words or their plurals, "
    "within the tokens that are read): LMD compares nothing in them",
    "texts_with_attributes": "contain no attribute within the tokens that are read: the debiasing term does not use "
    "them",
}
"""Facts that count the texts a method used, with the description of the other texts."""


def sentences(lineage: Mapping[str, Any]) -> list[str]:
    """Return sentences on the method and the monitored values before and after."""
    method, watched = lineage["method"], lineage["watched"]
    before, after = watched["before"], watched["after"]
    base = lineage["base"]["name"]
    if "steps" in lineage:
        how = (
            f"trained by {method['name']} against the bias {lineage['bias']} for {lineage['steps']:,} steps."
        )
    else:
        how = f"changed by {method['name']} against the bias {lineage['bias']}. {lineage['told']}"
    if "search" in lineage:
        return [f"{base} was {how}", *search_sentences(lineage["search"])]
    told = [
        f"{base} was {how}",
        f"On held-out texts the monitored bias went from {wording.number(before[BIAS])} to "
        f"{wording.number(after[BIAS])}.",
    ]
    if PERPLEXITY in after:
        told.append(
            f"The perplexity of {_read(lineage)} went from {wording.number(before[PERPLEXITY])} to "
            f"{wording.number(after[PERPLEXITY])}."
        )
    return told


def watched_value(name: str, value: float | None) -> str:
    """Return a monitored value as text.

    >>> watched_value("p", 1e-9), watched_value("whole_p", 0.25), watched_value("t", -18.1)
    ('<0.001', '0.250', '−18.1')
    """
    return wording.probability(value) if name.rpartition("_")[2] == "p" else wording.number(value)


def _read(lineage: Mapping[str, Any]) -> str:
    """Return what the perplexity was computed on."""
    return "watched replies" if {"names", "descriptors_watched"} & lineage["data"].keys() else "neutral texts"


def _to_lower(method: Mapping[str, Any]) -> str:
    """Return the settings to lower; CDA has no debiasing term."""
    return "the weight of the term or the learning rate" if "weight" in method else "the learning rate"


def unreached(facts: Mapping[str, Any], bias: str) -> list[str]:
    """Return how many texts a method could not use, and why. `facts` is the part `data` of a lineage.

    Examples
    --------
    >>> unreached({"texts": 763, "texts_with_attributes": 760}, "race")[0][:34]
    '3 of 763 texts contain no attribut'
    """
    told = []
    for name, why in REACHED.items():
        if name in facts and (rest := facts["texts"] - facts[name]):
            own = " Most are texts that the model wrote itself." if bias.startswith("evenhand/") else ""
            told.append(f"{rest:,} of {facts['texts']:,} texts {why}.{own}")
    return told


def cautions(lineage: Mapping[str, Any]) -> list[str]:
    """Return cautions for readers who want to use the model."""
    before, after = lineage["watched"]["before"], lineage["watched"]["after"]
    told = []
    if broken := [WATCHED.get(name, name) for name, value in after.items() if value is None]:
        told.append(
            f"Not a finite number, which means that the weights are damaged: {wording.listing(broken)}."
        )
    if None not in (after[BIAS], before[BIAS]) and after[BIAS] >= before[BIAS]:
        told.append("The monitored bias did not fall: the method did not improve the model.")
    if None not in (one.get(PERPLEXITY) for one in (after, before)) and (
        after[PERPLEXITY] > (1 + MOST_LOSS) * before[PERPLEXITY]
    ):
        told.append(
            f"It reads {_read(lineage)} worse than before; lower {_to_lower(lineage['method'])}."
            if "steps" in lineage
            else f"It reads {_read(lineage)} worse than before; remove fewer directions."
        )
    if label := lineage["data"].get("label"):
        told.append(describe_label(label))
    if "replies_parroting" in lineage["data"]:
        told.append(
            "Measure whether it copies the sentences it answers more often than before, as in the paper. "
            f"{lineage['data']['replies_parroting']:,} replies that did so were left out of the training."
        )
    told += unreached(lineage["data"], lineage["bias"])
    if lineage.get("stored_as", "float32") != "float32":
        told.append(
            f"It was trained in 32 bits, and is monitored and stored in {lineage['stored_as']}. To store it without "
            "rounding, use save_dtype=float32."
        )
    if lineage.get("stopped_early"):
        told.append(f"Training stopped early; the model is that of step {lineage['best_step']:,}.")
    if "search" in lineage:
        told += search_cautions(lineage["search"])
    told += [
        f"Known problems of {lineage['method']['name']}: {lineage['method']['critique']}",
        "These values do not replace an audit: they do not cover other axes or the text that the model writes.",
    ]
    return told
