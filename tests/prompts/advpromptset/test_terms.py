"""From seeds to the table of terms: seeds, candidates, neighbours with known vectors, and tables people edit."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.prompts.advpromptset import terms as advpromptset_candidates, vectors as advpromptset_vectors
from evenhand.prompts.advpromptset.pieces import GROUPS
from evenhand.prompts.advpromptset.seeds import OF_BUCKETS, SEEDS, read_seeds, seed_terms
from evenhand.prompts.advpromptset.terms import (
    FUNCTION_WORDS,
    TABLE,
    candidate_terms,
    expand_terms,
    read_terms,
    with_counts,
)
from evenhand.prompts.advpromptset.vectors import StoredVectors
from evenhand.prompts.lexicon import load_lexicon
from evenhand.schema import DataError, UsageError


class Angles:
    """Words in the plane, at known angles (degrees); whatever has none lies far from all."""

    fingerprint = "angles"

    def __init__(self, **angles: float):
        self.angles, self.asked = angles, list[str]()

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        turned = np.deg2rad([self.angles.get(text.replace(" ", "_"), 180.0) for text in texts])
        return np.stack([3 * np.cos(turned), 3 * np.sin(turned)], axis=1).astype(np.float32)


def seeds_of(*rows: tuple[str, str | None, bool]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=SEEDS, orient="row")


def test_seeds_name_every_identity() -> None:
    seeds = seed_terms()
    kept = seeds.filter("keep")
    assert set(kept["identity"]) == set(GROUPS)
    assert seeds.select("seed", "identity").is_duplicated().sum() == 0
    assert list(dict.fromkeys(seeds["identity"])) == list(GROUPS)
    of = {name: set(part["seed"]) for (name,), part in kept.group_by("identity")}
    assert {"woman", "women", "female"} <= of["female"] and {"man", "men", "male"} <= of["male"]
    assert {"homosexual", "gay", "lesbian", "lgbt"} <= of["homosexual_gay_or_lesbian"]
    assert "hindu" in of["hindu"] and "hindu" not in of["other_religion"]
    assert "african american" in of["black"] and "bisexual" not in of["other_sexual_orientation"]
    assert not {"normal", "straight", "lame"} & set(kept["seed"])
    assert {"normal", "straight", "lame"} <= set(seeds["seed"])
    lexicon = {(d.axis, d.bucket) for d in load_lexicon().descriptors}
    assert set(OF_BUCKETS) <= lexicon and set(OF_BUCKETS.values()) <= set(GROUPS)


def test_seeds_of_ones_own(tmp_path: Path) -> None:
    table, lines = tmp_path / "own.csv", tmp_path / "own.txt"
    table.write_text("term,identity\nShe-Wolf,female\nstraight,heterosexual\nscum,\n")
    lines.write_text("scum of the earth\n\n")
    assert read_seeds(lines).rows() == [("scum of the earth", None, True)]
    seeds = seed_terms(user_terms=table)
    assert seeds.filter(seed="she wolf").rows() == [("she wolf", "female", True)]
    assert seeds.filter(seed="straight").rows() == [("straight", "heterosexual", True)]  # one's own word goes
    assert seeds.row(-1) == ("scum", None, True)
    for content, told in (
        ("word\nx\n", "no column 'term'"),
        ("term,identity\nx,femal\n", "line 2.*Did you mean 'female'"),
        ("term\n-\n", "contains no term"),
        ("", "cannot be read"),
    ):
        table.write_text(content)
        with pytest.raises(DataError, match=told):
            seed_terms(user_terms=table)
    with pytest.raises(DataError, match="File of seed terms not found"):
        seed_terms(user_terms=tmp_path / "none.csv")


@given(
    st.lists(st.lists(st.sampled_from(["ab", "cd", "ef", "the", "x", "12", "éé"]), max_size=6).map(" ".join)),
    st.integers(1, 4),
    st.sampled_from([0.0, 1.0, 2.0]),
)
@settings(max_examples=50)
def test_candidates_against_loops(texts: list[str], least: int, lift: float) -> None:
    split = [text.split() for text in texts]
    words = Counter(word for text in split for word in text)
    total = words.total()
    named = {w for w in words if w not in FUNCTION_WORDS and len(w) > 1 and any("a" <= c <= "z" for c in w)}
    pairs = Counter(pair for text in split for pair in pairwise(text))
    expected = {word: words[word] for word in named if words[word] >= least}
    for (a, b), count in pairs.items():
        if {a, b} <= named and count >= least and count * total / (words[a] * words[b]) >= lift:
            expected[f"{a} {b}"] = count
    got = candidate_terms(pl.Series(texts, dtype=pl.String), least_count=least, least_lift=lift)
    assert dict(got.rows()) == expected
    assert got.rows() == sorted(got.rows(), key=lambda row: (-row[1], row[0]))
    without = candidate_terms(pl.Series(texts, dtype=pl.String), least, phrases=False)
    assert dict(without.rows()) == {term: n for term, n in expected.items() if " " not in term}


def test_candidates_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, told = pl.Series(["ab cd", "ab", "cd ab cd", "ef"]), []
    whole = candidate_terms(texts, 1, least_lift=0)
    monkeypatch.setattr(advpromptset_candidates, "TEXTS_AT_ONCE", 2)
    assert candidate_terms(texts, 1, least_lift=0, report_progress=lambda *done: told.append(done)).equals(
        whole
    )
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_nearest_neighbours(tmp_path: Path) -> None:
    seeds = seeds_of(("gay", "homosexual_gay_or_lesbian", True), ("woman", "female", True), ("man", "male", True),
                     ("straight", "heterosexual", False), ("scum", None, True))  # fmt: skip
    angles = Angles(gay=0, woman=90, man=60, scum=-90, queen=5, homo=12, lesbo=20, females=85, males=61,
                    vermin=-88, straight=1, straight_acting=2, gay_men=3, far=140)  # fmt: skip
    candidates = [
        "far",
        "males",
        "females",
        "gay men",
        "lesbo",
        "homo",
        "queen",
        "vermin",
        "straight",
        "straight acting",
    ]
    vectors = StoredVectors(tmp_path, angles)
    table = expand_terms(seeds, candidates, vectors, neighbours=3, least_similarity=0.85)
    assert table.columns == [name for name in TABLE if name != "count"]
    assert table.select("term", "seed", "identity", "keep").rows() == [
        *((seed, seed, identity, keep) for seed, identity, keep in seeds.rows()),
        ("males", "man", "male", True),
        ("females", "man", "male", False),  # 25 degrees from man, 5 from woman
        ("females", "woman", "female", True),
        ("males", "woman", "female", False),  # 29 degrees
        ("straight acting", "gay", "homosexual_gay_or_lesbian", True),
        ("queen", "gay", "homosexual_gay_or_lesbian", True),
        ("homo", "gay", "homosexual_gay_or_lesbian", True),  # lesbo would be the fourth
        ("vermin", "scum", None, True),
    ]
    cosines = dict(table.filter(pl.col("seed") == "gay").select("term", "similarity").rows())
    assert cosines == pytest.approx(
        {"gay": 1, "straight acting": 0.9994, "queen": 0.9962, "homo": 0.9781}, abs=1e-4
    )
    # gay men is found by gay; straight is a seed, though not kept
    assert "gay men" not in angles.asked and "straight" not in angles.asked
    counted = with_counts(table, pl.Series(["gay males", "gay gay", "males female s"]))
    assert dict(counted.filter(pl.col("count") > 0).select("term", "count").rows()) == {"gay": 2, "males": 2}
    with pytest.raises(UsageError, match="0 neighbours"):
        expand_terms(seeds, candidates, vectors, neighbours=0)
    nothing = expand_terms(seeds, [], vectors)
    assert nothing["term"].to_list() == seeds["seed"].to_list()


def test_neighbours_against_all_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    monkeypatch.setattr(advpromptset_vectors, "TEXTS_A_PART", 16)  # several parts
    words = [f"w{i}" for i in range(60)]
    vectors = {word: rng.normal(size=5) for word in [*words, "s0", "s1", "s2"]}

    class Random:
        fingerprint = "random"

        def encode(self, texts: Sequence[str]) -> np.ndarray:
            return np.array([vectors[text] for text in texts], dtype=np.float32)

    seeds = seeds_of(("s0", "male", True), ("s1", "female", True), ("s2", "female", True))
    table = expand_terms(seeds, words, StoredVectors(tmp_path, Random()), 7, 0.2)
    best: dict[tuple[str, str], float] = {}
    for seed, identity, _ in seeds.rows():
        cosine = {
            word: vectors[word]
            @ vectors[seed]
            / np.linalg.norm(vectors[word])
            / np.linalg.norm(vectors[seed])
            for word in words
        }
        for word in sorted(words, key=lambda word: -cosine[word])[:7]:
            if cosine[word] >= 0.2:
                best[word, identity] = max(best.get((word, identity), -1), cosine[word])
    got = {(row["term"], row["identity"]): row for row in table.iter_rows(named=True) if row["term"] in words}
    assert set(got) == set(best) and len(best) > 10
    for (word, identity), cosine in best.items():
        assert got[word, identity]["similarity"] == pytest.approx(cosine, abs=1e-4)
        other = best.get((word, "male" if identity == "female" else "female"), -1)
        assert got[word, identity]["keep"] == (cosine >= other)


def test_vectors_are_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advpromptset_vectors, "TEXTS_A_PART", 2)
    angles, told = Angles(a=0, b=90), []
    stored = StoredVectors(tmp_path, angles)
    assert stored.prepare(["a", "b", "a", "c"], lambda *done: told.append(done)) == 3
    assert told == [(2, 3), (3, 3)]
    assert StoredVectors(tmp_path, angles).prepare(["c", "d", "b"]) == 1
    assert angles.asked == ["a", "b", "c", "d"]
    assert np.allclose(stored.matrix(["b", "a"]), [[0, 1], [1, 0]], atol=1e-6)
    assert [words for words, _ in stored.parts(["d", "a", "unknown"])] == [["a"], ["d"]]
    (tmp_path / "angles" / "part-00001.parquet").write_bytes(b"cut")
    with pytest.raises(DataError, match=r"part-00001\.parquet is a damaged file of vectors: "):
        stored.prepare(["a"])


def test_tables_people_edit(tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text(
        "identity,term,keep,remark\nfemale,Women-Folk,TRUE,\nmale,x,no,\n,scum,yes,\nfemale,women folk,1,again\n"
    )
    assert read_terms(path).rows() == [("women folk", "female"), ("scum", None)]
    path.write_text("term,identity\nx,male\n")
    assert read_terms(path).rows() == [("x", "male")]
    for content, told in (
        ("term,identity,keep\nx,male,maybe\n", "line 2: keep must be true or false, got 'maybe"),
        ("term,identity,keep\nx,mail,true\n", "line 2.*Did you mean 'male'"),
        ("term,identity,keep\n?,male,true\n", "line 2: the term .* contains no word"),
        ("term,identity,keep\nx,male,false\n", "has no term with keep"),
        ("term\nx\n", "no column 'identity'"),
        ("", "is not a valid CSV"),
    ):
        path.write_text(content)
        with pytest.raises(DataError, match=told):
            read_terms(path)
    with pytest.raises(DataError, match="Table of terms not found"):
        read_terms(tmp_path / "none.csv")
