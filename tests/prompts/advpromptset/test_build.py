"""AdvPromptSet built from downloads: labels, strata, what is used again, what people edit, and the verb."""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.benchmarks.registry import load_benchmark
from evenhand.catalogue import build_sentences
from evenhand.prompts.advpromptset import build as advpromptset_build
from evenhand.prompts.advpromptset.build import BuildOptions, build_advpromptset, draw_evenly
from evenhand.prompts.advpromptset.built import settings_path
from evenhand.prompts.advpromptset.loading import load_advpromptset
from evenhand.prompts.advpromptset.pieces import FILES, FOLDERS, GROUPS, extract_advpromptset
from evenhand.schema import DataError, UsageError

NEAR = {"gayfolk": "gay", "femmes": "woman", "lads": "man", "churchy": "christian"}
FILLERS = ["went", "home", "bread", "rain", "street", "yellow"]


class Near:
    """Every word a direction of its own, but those of NEAR, which lie close to their seed."""

    name, fingerprint = "near", "near-1"

    def __init__(self) -> None:
        self.asked = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += len(texts)
        return np.stack([direction(NEAR.get(t, t)) + 0.2 * direction(t) for t in texts]).astype(np.float32)


def direction(word: str) -> np.ndarray:
    vector = np.random.default_rng(list(word.encode())).normal(size=256)
    return vector / np.linalg.norm(vector)


def write_jigsaw(folder: Path, comments: int = 240) -> Path:
    """Downloads whose 2019 part is annotated in every second comment, by raters who know more words than we."""
    rng = np.random.default_rng(11)
    named = {"gay": "homosexual_gay_or_lesbian", "gayfolk": "homosexual_gay_or_lesbian", "woman": "female",
             "femmes": "female", "lads": "male", "churchy": "christian", "zorp": "muslim"}  # fmt: skip
    rows: dict[str, list[dict[str, object]]] = {file: [] for file in FILES}
    for number in range(comments):
        words = list(rng.choice(FILLERS, 4)) + list(rng.choice(list(named), rng.integers(0, 3)))
        rng.shuffle(words)
        file = FILES[number % len(FILES)]
        toxic = int(rng.integers(2))
        marked = {named[word] for word in words if word in named}
        text = f"{' '.join(words)} {number}."
        identities = {name: float(name in marked) if number % 4 < 2 else "" for name in GROUPS}
        row: dict[str, object] = {"id": f"c{number}", "comment_text": text}
        if FOLDERS[2] in file:
            row |= {"target" if "train" in file else "toxicity": toxic, **identities}
        elif file.endswith("train.csv"):
            row["toxic"] = toxic
        elif file.endswith("test_labels.csv"):
            rows[FILES[0]].append(dict(row))
            row = {"id": row["id"], "toxic": toxic}
        else:
            rows[FILES[1]].append({"id": row["id"], "toxic": toxic})
        rows[file].append(row)
    for file, part in rows.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        with (folder / file).open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, fieldnames=list(part[0]))
            writer.writeheader()
            writer.writerows(part)
    return folder


@pytest.fixture(scope="module")
def jigsaw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_jigsaw(tmp_path_factory.mktemp("jigsaw"))


HOW = BuildOptions(least_count=5, neighbours=3)


def test_all_stages(jigsaw: Path, tmp_path: Path) -> None:
    told: list[str] = []
    out = tmp_path / "set.jsonl"
    built = build_advpromptset(jigsaw, out, Near(), HOW, lambda stage, *_: told.append(stage))
    assert list(dict.fromkeys(told)) == [
        "cutting comments", "counting words", "embedding", "counting terms", "matching", "writing",
    ]  # fmt: skip
    table = pl.read_csv(built.terms)
    assert table.columns == ["term", "seed", "identity", "similarity", "count", "keep"]
    found = table.filter(pl.col("term") != pl.col("seed"), "keep")
    assert dict(found.select("term", "seed").rows()) == NEAR

    prompts = load_advpromptset(out)
    frame = prompts.frame
    assert built.pieces == 240 and built.written == built.kept == frame.height
    pieces = {row["comment_text"]: row for row in extract_advpromptset(jigsaw).iter_rows(named=True)}
    counts = dict(table.select("term", "count").rows())
    known = {"gay": "homosexual_gay_or_lesbian", "gayfolk": "homosexual_gay_or_lesbian", "woman": "female",
             "femmes": "female", "lads": "male", "churchy": "christian"}  # fmt: skip
    expected = {text for text in pieces if set(text.split()) & set(known)}
    assert set(frame["text"]) == expected and 100 < frame.height < 200
    assert all(counts[word] == sum(word in text.split() for text in pieces) > 0 for word in known)
    for row in frame.iter_rows(named=True):
        piece = pieces[row["text"]]
        assert (row["toxicity"], row["identity_grp"]) == (piece["toxicity"], piece["identity_grp"])
        words = sorted(set(row["text"].split()) & set(known))
        assert row["terms"] == words and row["n_terms"] == len(words)
        by_terms = "".join(str(int(name in {known[word] for word in words})) for name in GROUPS)
        assert row["term_identities"] == by_terms
        if row["identity_grp"] == "annotated":
            assert row["identities"] == "".join(str(piece[name]) for name in GROUPS)
            assert ("zorp" in row["text"].split()) == bool(row["muslim"])
        else:
            assert row["identities"] == by_terms
        assert row["identities"] == "".join(str(row[name]) for name in GROUPS)
    assert set(frame["identity_grp"]) == {"annotated", "predicted"}

    quality = {
        row["identity"]: row for row in pl.read_csv(built.stages / "agreement.csv").iter_rows(named=True)
    }
    marked = [row for row in pieces.values() if row["identity_grp"] == "annotated"]
    assert quality["female"]["raters"] == sum(row["female"] for row in marked) > 0
    assert quality["female"]["precision"] == quality["female"]["recall"] == 1
    assert quality["muslim"]["raters"] > 0 == quality["muslim"]["terms"] and quality["muslim"]["recall"] == 0
    assert quality["muslim"]["precision"] is None

    card = prompts.card
    assert "not the frozen selection" in card.details and "embedding model near" in card.details
    assert "least similarity 0.7" in card.details and "seed 0" in card.details
    assert len(load_benchmark("advpromptset").build({"advpromptset": out})) == frame.height
    with pytest.raises(UsageError, match="is a set that was built by evenhand, so the published"):
        load_advpromptset(out, jigsaw)


def test_drawn_evenly_and_the_same_again(jigsaw: Path, tmp_path: Path) -> None:
    embedding, whole, small = Near(), tmp_path / "set.jsonl", tmp_path / "set_stages"
    build_advpromptset(jigsaw, whole, embedding, HOW)
    asked, everything = embedding.asked, load_advpromptset(whole).frame
    written = {path.name: path.stat().st_mtime_ns for path in small.glob("*.parquet")}
    build_advpromptset(jigsaw, whole, embedding, BuildOptions(least_count=5, neighbours=3, size=60, seed=4))
    assert embedding.asked == asked  # nothing is embedded, cut or matched anew
    assert {path.name: path.stat().st_mtime_ns for path in small.glob("*.parquet")} == written
    drawn = load_advpromptset(whole)
    strata = pl.read_csv(
        small / "strata.csv", schema_overrides={"identities": pl.String, "term_count": pl.String}
    )

    def stratum(row: dict[str, object]) -> tuple[object, ...]:
        number = int(str(row["n_terms"]))
        return row["toxicity"], str(number) if number < 3 else "3 or more", row["identities"]

    before, after = (Counter(map(stratum, f.iter_rows(named=True))) for f in (everything, drawn.frame))
    assert {row[:3]: row[4:6] for row in strata.rows()} == {key: (before[key], after[key]) for key in before}
    assert after.total() == 60 == drawn.frame.height
    level = max(after.values())
    assert all(after[key] == before[key] or after[key] >= level - 1 for key in before)
    weights = {stratum(row): row["weight"] for row in drawn.frame.iter_rows(named=True)}
    assert weights == pytest.approx({key: before[key] / after[key] for key in after})
    content = whole.read_bytes()
    build_advpromptset(
        jigsaw, tmp_path / "again.jsonl", Near(), BuildOptions(least_count=5, neighbours=3, size=60, seed=4)
    )
    assert (tmp_path / "again.jsonl").read_bytes() == content
    build_advpromptset(jigsaw, whole, Near(), BuildOptions(least_count=5, neighbours=3, size=60, seed=5))
    assert whole.read_bytes() != content


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(1, 5), st.sampled_from(["1", "0"])), min_size=1, max_size=60
    ),
    st.integers(1, 70),
    st.integers(0, 3),
)
@settings(max_examples=60)
def test_even_draws(rows: list[tuple[int, int, str]], size: int, seed: int) -> None:
    names = [f"p{number}" for number in range(len(rows))]
    columns = dict(zip(("toxicity", "n_terms", "identities"), zip(*rows, strict=True), strict=True))
    columns["identities"] = [digit + "0" * 23 for digit in columns["identities"]]
    pieces = pl.DataFrame({"prompt_id": names, "text": names, **columns})
    drawn = draw_evenly(pieces, size, seed)
    assert drawn.frame.height == min(size, len(rows)) == drawn.strata["after"].sum()
    assert drawn.strata["before"].sum() == len(rows)
    small = drawn.strata.filter(pl.col("after") < pl.col("before"))["after"]
    if len(small):  # whoever gave less than it has gave as much as anybody, but for the remainder
        assert small.min() >= drawn.strata["after"].max() - 1
    if drawn.strata["after"].min():
        assert drawn.frame["weight"].sum() == pytest.approx(len(rows))
    larger = set(draw_evenly(pieces, size + 3, seed).frame["prompt_id"])
    assert set(drawn.frame["prompt_id"]) <= larger


def test_people_edit_the_terms(jigsaw: Path, tmp_path: Path) -> None:
    out = tmp_path / "set.jsonl"
    first = build_advpromptset(
        jigsaw, out, Near(), BuildOptions(least_count=5, neighbours=3, only_terms=True)
    )
    assert not out.exists() and first.written == 0
    table = pl.read_csv(first.terms)
    edited = table.with_columns(keep=pl.col("term").is_in(["lads", "churchy"]))
    edited.write_csv(first.terms)
    assert build_advpromptset(jigsaw, out, Near(), HOW).kept > 0  # the same settings: the edits stand
    prompts = load_advpromptset(out)
    assert {word for row in prompts.frame["terms"] for word in row} == {"lads", "churchy"}
    assert "edited by hand" in prompts.card.details
    content = out.read_bytes()
    with pytest.raises(UsageError, match=r"terms\.csv was edited"):
        build_advpromptset(jigsaw, out, Near(), BuildOptions(least_count=5, neighbours=4))
    assert build_advpromptset(jigsaw, out).written == prompts.frame.height  # no model is needed for it
    other = tmp_path / "other.jsonl"
    build_advpromptset(jigsaw, other, how=BuildOptions(terms=first.terms))
    assert out.read_bytes() == content == other.read_bytes()
    assert pl.read_csv(first.terms).equals(edited)
    edited.with_columns(keep=pl.col("term") == "zorp").write_csv(first.terms)
    with pytest.raises(DataError, match="has no term with keep"):
        build_advpromptset(jigsaw, out)
    (tmp_path / "own.csv").write_text("term,identity\nnowhere,male\n")
    with pytest.raises(DataError, match="None of the 240 text pieces contains one of the 1 terms"):
        build_advpromptset(jigsaw, out, how=BuildOptions(terms=tmp_path / "own.csv"))
    assert out.read_bytes() == content  # what failed took nothing away


def test_stopped_anywhere_it_goes_on(jigsaw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tmp_path / "whole.jsonl"
    build_advpromptset(jigsaw, whole, Near(), HOW)
    for stop in (
        "candidate_terms",
        "expand_terms",
        "with_counts",
        "terms_of_texts",
        "draw_evenly",
        "write_built",
    ):

        def stopped(*arguments: object, **named: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(advpromptset_build, stop, stopped)
            build_advpromptset(jigsaw, tmp_path / "cut.jsonl", Near(), HOW)
        assert not (tmp_path / "cut.jsonl").exists()
    embedding = Near()
    build_advpromptset(jigsaw, tmp_path / "cut.jsonl", embedding, HOW)
    assert embedding.asked == 0 and (tmp_path / "cut.jsonl").read_bytes() == whole.read_bytes()
    assert not list(tmp_path.rglob("*.tmp"))


def test_other_downloads_are_another_set(tmp_path: Path) -> None:
    folder, out = write_jigsaw(tmp_path / "jigsaw", 60), tmp_path / "set.jsonl"
    first = build_advpromptset(folder, out, Near(), HOW)
    with (folder / FILES[2]).open("a", encoding="utf-8") as handle:
        handle.write("c999,a gay street,1\r\n")
    assert build_advpromptset(folder, out, Near(), HOW).kept == first.kept + 1
    (first.stages / "pieces.parquet").write_bytes(b"cut")
    assert build_advpromptset(folder, out, Near(), HOW).kept == first.kept + 1
    (folder / FILES[0]).unlink()
    with pytest.raises(DataError, match=r"has no test\.csv"):
        build_advpromptset(folder, out, Near(), HOW)


@pytest.mark.parity
def test_the_published_extraction_with_terms(shared: Path, tmp_path: Path) -> None:
    terms = tmp_path / "terms.csv"
    terms.write_text("term,identity\ncivil comment,male\npart,female\nwords,\n")
    mini, out = shared / "parity/advpromptset_mini", tmp_path / "set.jsonl"
    built = build_advpromptset(mini / "jigsaw_data", out, how=BuildOptions(terms=terms))
    published = pl.read_csv(mini / "expected_processed.csv", schema_overrides={"id": pl.String})
    kept = published.filter(pl.col("comment_text").str.contains(r"\b(?:civil comment|part|words)\b"))
    assert built.pieces == published.height
    columns = ["id", "comment_text", "toxicity", "jigsaw_dat", "test_set", "identity_grp"]
    got = load_advpromptset(out).frame.rename({"text": "comment_text"}).select(columns)
    assert got.rows() == kept.select(columns).rows() and got.height > 10


def test_files_that_are_no_built_set(jigsaw: Path, tmp_path: Path) -> None:
    out = tmp_path / "set.jsonl"
    build_advpromptset(jigsaw, out, Near(), HOW)
    lines = out.read_text().splitlines()
    out.write_text("\n".join(lines[:20]) + "\n")
    assert "belongs to another version of the file" in load_advpromptset(out).card.details
    settings_path(out).write_text("[]")
    assert "no readable set.settings.json" in load_advpromptset(out).card.details
    out.write_text(json.dumps({"text": "x"}) + "\n")
    with pytest.raises(
        DataError, match=r"has no columns 'prompt_id', 'toxicity', 'identity_grp', .*\(found: text\)"
    ):
        load_advpromptset(out)
    out.write_text("{")
    with pytest.raises(DataError, match="is not a table of JSON Lines"):
        load_advpromptset(out)


def test_options(jigsaw: Path, tmp_path: Path) -> None:
    out = tmp_path / "set.jsonl"
    with pytest.raises(UsageError, match="An embedding model or a table of terms is required"):
        build_sentences("advpromptset", out, source=jigsaw)
    with pytest.raises(UsageError, match="--from FOLDER"):
        build_sentences("advpromptset", out)
    with pytest.raises(UsageError, match="no versions"):
        build_sentences("advpromptset", out, source=jigsaw, style="csv")
    with pytest.raises(UsageError, match="size: only advpromptset has these options, not evenhand"):
        build_sentences("evenhand", out, advpromptset={"size": 3})
    with pytest.raises(UsageError, match=r"ends in \.jsonl"):
        build_advpromptset(jigsaw, tmp_path / "set.csv", Near())
    for wrong, told in (
        ({"size": 0}, "size must be at least 1, got 0"),
        ({"neighbours": 0}, "neighbours must be at least 1, got 0"),
        ({"least_similarity": 2}, "from -1 to 1, got 2"),
    ):
        with pytest.raises(UsageError, match=told):
            BuildOptions(**wrong)
    terms = tmp_path / "terms.csv"
    terms.write_text("term,identity\ngay,homosexual_gay_or_lesbian\nlads,male\n")
    told: list[str] = []
    rows = build_sentences(
        "advpromptset",
        out,
        source=jigsaw,
        advpromptset={"terms": terms, "size": 7},
        report_progress=lambda s, *_: told.append(s),
    )
    assert rows == 7 == len(load_advpromptset(out)) and told[-1] == "writing"
    assert (
        build_sentences("advpromptset", out, source=jigsaw, advpromptset={"terms": terms, "only_terms": True})
        == 2
    )
