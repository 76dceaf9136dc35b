"""Build the table of terms from lists."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from evenhand.corpus.normalising import normalise
from evenhand.corpus.terms.candidates import Candidate
from evenhand.corpus.terms.descriptor_lists import holisticbias_descriptors, lexicon_descriptors
from evenhand.corpus.terms.person_lists import names as first_names, names_of_births, person_nouns, pronouns
from evenhand.corpus.terms.table import SURFACE_COLUMNS, TERM_COLUMNS, TermTable
from evenhand.corpus.terms.users_lists import ENDINGS, users_terms
from evenhand.prompts.datasets import dataset_folder
from evenhand.schema import unknown_name

LISTS = (
    "descriptors",
    "holisticbias",
    "holisticbias-v1.0",
    "holisticbias-v1.1",
    "holisticbias-nouns",
    "pronouns",
    "names",
    "births",
    "person_nouns",
)
"""Lists of terms by name."""
DEFAULT = ("descriptors", "pronouns")
"""Names of the lists that are counted by default. They need no download."""
NAME = "name"
ALWAYS = "person_nouns"
"""Lists that are always included, because their hits show whether a person is mentioned near a term."""


def build_terms(
    lists: Sequence[str] = DEFAULT,
    *,
    holisticbias: Path | str | None = None,
    names: Path | str = "own",
    births: Path | str | None = None,
    inflections: bool = True,
) -> TermTable:
    """Build one table of terms from several lists of words.

    The table defines what `evenhand.frequencies` and `count_batch` count. The order of the lists does not
    matter.

    Parameters
    ----------
    lists : sequence of str
        Names of built-in lists, or paths of your own files (`users_terms`). "person_nouns" is in every table.

        - "descriptors": evenhand's lexicon;
        - "holisticbias": the descriptors of version 1.1, or of the version in the given folder, as the paper
          counts them;
        - "holisticbias-nouns": its noun phrases, which are in a separate file;
        - "pronouns": the paper's three lists;
        - "names": first names;
        - "births": frequent names from births in the United States.
    holisticbias : path or str, optional
        Folder of HolisticBias. Default: the one from `evenhand data fetch`.
    names : path or str, default "own"
        A list of `load_names`, or your own file.
    births : path or str, optional
        File or folder for `read_births`. Default: the one from `evenhand data fetch`.
    inflections : bool, default True
        Whether plurals count as their terms.

    Returns
    -------
    TermTable
        The table.

    Raises
    ------
    UsageError
        A list is unknown.
    DatasetMissing
        A list is not installed.
    DataError
        A file is invalid.

    Notes
    -----
    Entries with the same spelling in one list, axis and group become one term, with the name of the first
    ("Deaf" and "deaf"). If a spelling has plurals in one entry, it has them in all lists, kinds and axes,
    except in names of people. One word therefore has one frequency.

    Possessives need no separate surface, because an apostrophe ends a word: "women's" counts as "women". The
    same is true for other capitals, hyphens or spaces (`evenhand.corpus.normalising`).

    Examples
    --------
    >>> table = build_terms(["pronouns"])
    >>> table.terms.filter(kind="pronoun").group_by("group", maintain_order=True).len().rows()
    [('he', 4), ('she', 4), ('they', 7)]
    """
    candidates: list[Candidate] = []
    makers: dict[str, Callable[[], Iterable[Candidate]]] = {
        "descriptors": lexicon_descriptors,
        "holisticbias": lambda: holisticbias_descriptors(_path(holisticbias)),
        "holisticbias-v1.0": lambda: holisticbias_descriptors(_path(holisticbias), "v1.0"),
        "holisticbias-v1.1": lambda: holisticbias_descriptors(_path(holisticbias), "v1.1"),
        "holisticbias-nouns": lambda: holisticbias_descriptors(_path(holisticbias), nouns=True),
        "pronouns": pronouns,
        "names": lambda: first_names(names, births),
        "births": lambda: names_of_births(dataset_folder("ssa-names") if births is None else births),
        "person_nouns": person_nouns,
    }
    for each in dict.fromkeys((*lists, ALWAYS)):
        if each in makers:
            candidates += makers[each]()
        elif Path(each).suffix.lower() in ENDINGS:
            candidates += users_terms(Path(each))
        else:
            raise unknown_name("list of terms", each, (*LISTS, *(f"FILE{ending}" for ending in ENDINGS[:3])))
    return _table(_each_once(candidates), inflections)


def _path(folder: Path | str | None) -> Path | None:
    return None if folder is None else Path(folder)


def _each_once(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates in order; those with the same spelling in one list, axis and group become one."""
    found: dict[tuple[str, ...], list[Candidate]] = defaultdict(list)
    for each in sorted(set(candidates)):
        found[each.source, each.kind, each.axis, each.group, as_surface(each.name)].append(each)
    return [
        replace(several[0], plurals=tuple(plural for each in several for plural in each.plurals))
        for several in found.values()
    ]


def _table(candidates: Sequence[Candidate], inflections: bool) -> TermTable:
    plurals: dict[str, dict[str, None]] = defaultdict(dict)
    for each in candidates if inflections else ():
        plurals[_spelling(each)] |= dict.fromkeys(map(as_surface, each.plurals))
    terms: list[tuple[object, ...]] = []
    surfaces: list[tuple[object, ...]] = []
    for term, each in enumerate(candidates):
        terms.append((term, each.name, each.kind, each.axis, each.group or None, each.source, each.ambiguous))
        spelt = {as_surface(each.name): False}
        for plural in plurals[_spelling(each)]:
            spelt.setdefault(plural, True)
        surfaces += [(len(surfaces) + i, term, text, spelt[text]) for i, text in enumerate(spelt)]
    return TermTable(
        pl.DataFrame(terms, schema=TERM_COLUMNS, orient="row"),
        pl.DataFrame(surfaces, schema=SURFACE_COLUMNS, orient="row"),
    )


def _spelling(candidate: Candidate) -> str:
    """Return the key under which candidates share plurals; names of people ("Christian") are separate."""
    return f"{as_surface(candidate.name)}{' (name)' * (candidate.kind == NAME)}"


def as_surface(spelling: str) -> str:
    """Return the normalised form of a spelling."""
    return normalise(spelling).strip()
