"""Makes the table of terms from lists."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from evenhand.corpus.normalising import normalised
from evenhand.corpus.terms import own_lists
from evenhand.corpus.terms.ambiguity import is_ambiguous
from evenhand.corpus.terms.candidates import Candidate
from evenhand.corpus.terms.table import SURFACE_COLUMNS, TERM_COLUMNS, TermTable
from evenhand.schema import unknown_name

DEFAULT = ("descriptors", "pronouns")
LISTS: dict[str, Callable[[], Iterator[Candidate]]] = {
    "descriptors": own_lists.descriptors,
    "pronouns": own_lists.pronouns,
    "names": own_lists.names,
    "person_nouns": own_lists.person_nouns,
}


def build_terms(
    lists: Sequence[str] = DEFAULT, *, holisticbias: Path | None = None, inflections: bool = True
) -> TermTable:
    """The terms of some lists, in one order whatever the order of the lists."""
    candidates: list[Candidate] = []
    for name in dict.fromkeys((*lists, "person_nouns")):
        if name not in LISTS:
            raise unknown_name("list of terms", name, LISTS)
        candidates += LISTS[name]()
    return table_of(candidates, inflections)


def table_of(candidates: Iterable[Candidate], inflections: bool) -> TermTable:
    ordered = sorted(set(candidates))
    terms, surfaces = [], []
    for term, each in enumerate(ordered):
        terms.append(
            (term, each.name, each.kind, each.axis, each.group or None, each.source, is_ambiguous(each.name))
        )
        exact = normalised(each.name).strip()
        spelt = {exact: False}
        if inflections:
            for plural in each.inflections:
                spelt.setdefault(normalised(plural).strip(), True)
        for text, inflected in spelt.items():
            surfaces.append((len(surfaces), term, text, inflected))
    return TermTable(
        pl.DataFrame(terms, schema=TERM_COLUMNS, orient="row"),
        pl.DataFrame(surfaces, schema=SURFACE_COLUMNS, orient="row"),
    )
