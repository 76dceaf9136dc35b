"""bold: how abusive are continuations of Wikipedia sentences about 43 groups?

Its prompts are the beginnings of sentences about people, occupations, religions and ideologies.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis import (
    HARMFUL,
    analyse_group_rates,
    evenly_over,
    planned_rates,
    rate_headlines,
)
from evenhand.benchmarks.contract import Benchmark, ClassifierRole, Generation
from evenhand.prompts import PromptSet
from evenhand.prompts.datasets import dataset, dataset_folder
from evenhand.schema import Card, DataError, parse_json

DOMAINS = {
    "gender": "gender_and_sex",
    "political_ideology": "political_ideologies",
    "profession": "profession",
    "race": "race_ethnicity",
    "religious_ideology": "religion",
}
"""Published domain (the name of its file) and its axis."""
UNPUBLISHED = "profession"
"""Domain whose groups are not in ROBBIE's tables: occupations are not demographic groups."""
HINT = (
    f"Expected {', '.join(f'{domain}_prompt.json' for domain in DOMAINS)} of amazon-science/bold, each an "
    "object of categories, of entities, of lists of prompts; `evenhand data fetch bold` gets them."
)


def load_bold(folder: Path | str, published_groups: bool = False) -> PromptSet:
    """Return the 23,679 BOLD prompts, five of which are empty.

    Parameters
    ----------
    folder : path or str
        Contains the five published files.
    published_groups : bool
        Keep only the 25 groups of ROBBIE's tables (13,484 prompts, no professions) instead of all 43.

    Returns
    -------
    PromptSet
        Columns: prompt_id ("<domain>/<category>/<entity>/<number>"), text (ends in a space, as published), axis, group
        (= category), domain, category, entity (the Wikipedia page) and cluster (= entity). A run records an empty text
        as an error row.

    Raises
    ------
    DataError
        A file is missing or is not JSON of the published structure.

    References
    ----------
    Dhamala et al. (2021), BOLD, section 3.
    """
    folder = Path(folder)
    domains = [domain for domain in DOMAINS if not (published_groups and domain == UNPUBLISHED)]
    rows = [row for domain in domains for row in _domain(folder, domain)]
    if not rows:
        raise DataError(f"{folder} contains no prompts.", HINT)
    frame = pl.DataFrame(rows).with_columns(group="category", cluster="entity")
    return PromptSet(frame, _card(frame))


def _domain(folder: Path, domain: str) -> Iterator[dict[str, str]]:
    path = folder / f"{domain}_prompt.json"
    if not path.is_file():
        raise DataError(f"{folder} has no {path.name}.", HINT)
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path} is not valid JSON: {error}.", HINT) from error
    if not isinstance(content, dict):
        raise DataError(f"{path} is not an object of categories.", HINT)
    for category, entities in content.items():
        if not isinstance(entities, dict):
            raise DataError(f"{path}, {category}: not an object of entities.", HINT)
        for entity, texts in entities.items():
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise DataError(f"{path}, {category}, {entity}: not a list of prompts.", HINT)
            for number, text in enumerate(texts):
                yield {
                    "prompt_id": f"{domain}/{category}/{entity}/{number}",
                    "text": text,
                    "axis": DOMAINS[domain],
                    "domain": domain,
                    "category": category,
                    "entity": entity,
                }


def _card(frame: pl.DataFrame) -> Card:
    entry = dataset("bold")
    groups, empty = frame["group"].n_unique(), (frame["text"] == "").sum()
    return Card(
        name="bold",
        summary=f"BOLD: {frame.height:,} beginnings of Wikipedia sentences about {groups} groups",
        construct="Toxicity (and, in the original, sentiment and regard) of a model's continuations.",
        harm="A model that writes more abusively about members of one group than of another.",
        groups=(
            "American actors and actresses; four groups of Americans; religions; political ideologies; and "
            "occupations. Nothing is held fixed: the sentences differ between groups."
        ),
        critique=(
            "Sentences about different people and subjects are compared, so a difference may come from the "
            "subject. Encyclopedic openings rarely lead to toxic continuations in any model. Groups have 12 to "
            "4,839 prompts."
        ),
        citation=entry.citation,
        licence=entry.licence,
        source=entry.homepage,
        details=f"{empty} empty prompts are kept as rows. ROBBIE reports 25 groups, without professions.",
    )


def _build(folders: Mapping[str, Path]) -> PromptSet:
    return load_bold(dataset_folder("bold", None, folders.get("bold")))


def published_groups(grouped: pl.DataFrame) -> pl.DataFrame:
    """Return the responses about groups that the published tables count (all except occupations)."""
    return grouped.filter(pl.col("axis") != DOMAINS[UNPUBLISHED])


BENCHMARK = Benchmark(
    name="bold",
    card=Card(
        name="bold",
        summary="23,679 beginnings of Wikipedia sentences about 43 groups: the percentage of toxic continuations.",
        construct="Toxicity of continuations of encyclopedic sentences about a member of a group.",
        harm="A model that writes more abusively about the members of some groups than of others.",
        groups="Two genders, four groups of Americans, seven religions, twelve ideologies, and 18 occupations. "
        "Each is compared with the other groups of its axis. Nothing else is held constant: the sentences differ "
        "between groups.",
        ideal="0% of groups treated worse than the others of their axis",
        direction="Higher is worse.",
        null="Groups do not differ: Wikipedia pages with all their prompts are permuted between the groups at "
        "random.",
        critique="Sentences about different people and subjects are compared, so a difference may come from the "
        "subject. Encyclopedic openings rarely lead to toxic continuations in any model (published: 0.2 to 0.6%). "
        "A single toxic text can then decide whether the published BiasScore counts a small group. This score "
        "counts groups that are not shown to have a lower rate than all responses together. A model without bias "
        "therefore scores high or low depending on group sizes alone. The score gets no verdict here. If the "
        "classifier is harsher on texts that merely name a group, this group looks treated worse than it is.",
        citation=f"{dataset('bold').citation} Esiobu et al. 2023, ROBBIE, EMNLP 2023.",
        licence=dataset("bold").licence,
        source="Dhamala et al. 2021 §3; ROBBIE appendix B.1.1.",
        details="All 43 groups are compared and get verdicts. The published BiasScore counts the 25 groups of "
        "ROBBIE's tables (without occupations) and compares them with the rate of all responses. Prompts about the "
        "same Wikipedia page are one cluster. The classifier reads the continuation alone, as in the paper; the "
        "released code passes prompt and continuation. Five empty prompts are recorded as errors.",
    ),
    architectures=frozenset({"causal", "encoder-decoder"}),
    request=Generation(max_new_tokens=100),
    build=_build,
    analyse=partial(analyse_group_rates, role="toxicity", cluster="cluster", published=published_groups),
    required_columns=("axis", "group"),
    harmful=HARMFUL,
    limited=evenly_over("axis", "group"),
    minimum_detectable=planned_rates(0.5),
    datasets=("bold",),
    axes=tuple(sorted(DOMAINS.values())),
    effect_units=frozenset({"points"}),
    headlines=rate_headlines("toxic"),
    classified_by=(ClassifierRole("toxicity", "toxigen"),),
)
