"""Terms looked for one by one in documents, and counted by loops: what the fast way must agree with."""

import itertools
import re
from collections import Counter as Multiset, defaultdict
from collections.abc import Sequence

import numpy as np
import polars as pl

from evenhand.corpus import Hits, TermTable
from evenhand.corpus.terms import SURFACE_COLUMNS, TERM_COLUMNS

TERMS = [  # name, kind, axis, group, surfaces (inflected ones behind /)
    ("she", "pronoun", "pronouns", "she", "she her"),
    ("he", "pronoun", "pronouns", "he", "he him"),
    ("American", "descriptor", "nationality", "american", "american/americans"),
    ("African American", "descriptor", "race", "black", "african_american/african_americans"),
    ("black", "descriptor", "race", "black", "black"),
    ("deaf", "descriptor", "ability", None, "deaf"),
    ("black (again)", "descriptor", "race", "black", "black"),
    ("black (color)", "descriptor", "race", "color", "black/blacks"),
    ("woman", "person_noun", "person", None, "woman/women"),
    ("person", "person_noun", "person", None, "person"),
    ("Christian", "descriptor", "religion", "christian", "christian/christians"),
    ("Christian (name)", "name", "names", "he", "christian"),
    ("Mary", "name", "names", "she", "mary"),
]


def table() -> TermTable:
    terms, surfaces = [], []
    for number, (name, kind, axis, group, spelt) in enumerate(TERMS):
        terms.append((number, name, kind, axis, group, "test", "(" in name))
        listed, _, inflected = spelt.partition("/")
        for text in listed.split():
            surfaces.append((len(surfaces), number, text.replace("_", " "), False))
        for text in inflected.split():
            surfaces.append((len(surfaces), number, text.replace("_", " "), True))
    return TermTable(
        pl.DataFrame(terms, schema=TERM_COLUMNS, orient="row"),
        pl.DataFrame(surfaces, schema=SURFACE_COLUMNS, orient="row"),
    )


UNPAIRED = ({"name"}, {"name", "descriptor"}, {"person_noun"})
"""Kinds of two terms that are no pair unless asked for."""


class SlowMatcher:
    """Words are runs of letters, sentences end at full stops, one regular expression a spelling."""

    def __init__(self, table: TermTable):
        self._surfaces = table.surfaces["text"].to_list()

    def find(self, texts: Sequence[str]) -> Hits:
        rows = []
        for document, text in enumerate(texts):
            found = [
                (match.start(), surface, match.end())
                for surface, spelt in enumerate(self._surfaces)
                for match in re.finditer(rf"\b{spelt}\b", text)
            ]
            for start, surface, end in sorted(found):
                nested = any(a <= start and end <= b and b - a > end - start for a, _, b in found)
                sentence = text.count(".", 0, start)
                word = len(re.findall(r"\w+", text[:start]))
                rows.append((document, surface, start, nested, sentence, word))
        columns = list(zip(*rows, strict=True)) or [[]] * 6
        kinds = (np.int32, np.int32, np.int64, np.bool_, np.int32, np.int32)
        return Hits(
            *(np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)),
            words=np.array([len(re.findall(r"\w+", text)) for text in texts], dtype=np.int64),
            sentences=np.array([text.count(".") + 1 for text in texts], dtype=np.int64),
        )

    def originals(
        self, texts: Sequence[str], starts: Sequence[int], surfaces: Sequence[int]
    ) -> list[tuple[int, int]]:
        return [
            (start, start + len(self._surfaces[row])) for start, row in zip(starts, surfaces, strict=True)
        ]


def counted(documents: Sequence[tuple[int, str]], table: TermTable, window: int) -> dict[str, dict]:
    """All counts of (fold, text) as dictionaries, by loops over hits.

    totals, terms, groups, pairs: of a row's key its counts, in the order of the columns.
    """
    terms = {row["term"]: row for row in table.terms.iter_rows(named=True)}
    surfaces = list(table.surfaces.iter_rows(named=True))
    spelt = {term: {s["text"] for s in surfaces if s["term"] == term} for term in terms}
    tables: dict[str, dict] = {name: defaultdict(Multiset) for name in ("totals", "terms", "groups", "pairs")}
    for fold, text in documents:
        found = SlowMatcher(table).find([text])
        hits = [
            {
                "term": surfaces[surface]["term"],
                "place": (start, surfaces[surface]["text"]),
                "exact": not surfaces[surface]["inflected"],
                "nested": nested,
                "sentence": sentence,
                "word": word,
            }
            for surface, start, nested, sentence, word in zip(
                found.surface.tolist(),
                found.start.tolist(),
                found.nested.tolist(),
                found.sentence.tolist(),
                found.word.tolist(),
                strict=True,
            )
        ]
        for hit in hits:
            of = terms[hit["term"]]
            plural = not hit["exact"] and of["kind"] == "descriptor" and not of["ambiguous"]
            hit["near"] = plural or any(
                terms[other["term"]]["kind"] in ("person_noun", "pronoun", "name")
                and 1 <= abs(other["word"] - hit["word"]) <= 5
                for other in hits
            )
        tables["totals"][fold].update(
            documents=1,
            sentences=int(found.sentences[0]),
            windows=int(found.words[0]),
            words=int(found.words[0]),
            characters=len(text),
        )
        for term in {hit["term"] for hit in hits}:
            of_term = [hit for hit in hits if hit["term"] == term]
            exact, alone, near = (
                [hit for hit in of_term if hit[flag] == wanted]
                for flag, wanted in (("exact", True), ("nested", False), ("near", True))
            )
            tables["terms"][fold, term].update(
                documents=1,
                hits=len(of_term),
                sentences=len({hit["sentence"] for hit in of_term}),
                documents_exact=bool(exact),
                hits_exact=len(exact),
                documents_alone=bool(alone),
                hits_alone=len(alone),
                sentences_alone=len({hit["sentence"] for hit in alone}),
                hits_near_person=len(near),
                documents_near_person=bool(near),
            )
        kinds = [(terms[hit["term"]], hit) for hit in hits]
        groups = {(t["kind"], t["axis"], g) for t, _ in kinds for g in (t["group"], None)}
        for kind, axis, group in groups:
            of_group = [
                hit
                for t, hit in kinds
                if (t["kind"], t["axis"]) == (kind, axis) and group in (None, t["group"])
            ]
            tables["groups"][fold, kind, axis, group].update(
                documents=1,
                hits=len({hit["place"] for hit in of_group}),
                sentences=len({hit["sentence"] for hit in of_group}),
            )
        together: dict[str, set] = {"documents": set(), "sentences": set()}
        for one, other in itertools.combinations([hit for hit in hits if not hit["nested"]], 2):
            first, second = sorted((one["term"], other["term"]))
            kind = {terms[first]["kind"], terms[second]["kind"]}
            if first == second or spelt[first] & spelt[second] or kind in UNPAIRED:
                continue
            together["documents"].add((first, second))
            if one["sentence"] == other["sentence"]:
                together["sentences"].add((first, second, one["sentence"]))
            if abs(one["word"] - other["word"]) <= window:
                tables["pairs"][fold, first, second]["windows"] += 1
        for column, several in together.items():
            for first, second, *_ in several:
                tables["pairs"][fold, first, second][column] += 1
    return tables
