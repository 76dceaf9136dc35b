"""`evenhand data`: published sets from a folder into the cache, and sentence sets out of them."""

import errno
import hashlib
import os
import shutil

import polars as pl
import pytest

from evenhand.classifiers import load_classifier
from evenhand.prompts.datasets.register import cache_folder
from evenhand.prompts.datasets.unpinned import FIRST_FETCHED
from tests.prompts.datasets.test_fetching import TRAINING, owner  # noqa: F401  # a fixture

WHOLE = {
    "v1.1": "8812b73fcf52ffc8219a22e5bb1fa8d1b4c640b39bb873d6c35505e19bcf37f8",
}


@pytest.mark.parity
def test_holisticbias_as_published_is_the_published_file(evenhand, shared, tmp_path):
    source = shared / "data" / "holisticbias" / "v1.1"
    out = tmp_path / "new folder" / "out.csv"
    ended = evenhand(
        "data", "build", "holisticbias", "--version", "v1.1", "--from", source, "--as-published", "--format", "csv",
        "-o", out,
    )  # fmt: skip
    assert ended.code == 0
    ended.says("Wrote 566,625 sentences to", str(out))
    assert hashlib.sha256(out.read_bytes()).hexdigest() == WHOLE["v1.1"]


@pytest.mark.parity
@pytest.mark.parametrize("style", ["csv", "parquet"])
def test_the_older_version_in_both_formats(evenhand, shared, tmp_path, style):
    source, out = shared / "data" / "holisticbias" / "v1.0", tmp_path / f"out.{style}"
    ended = evenhand(
        "data", "build", "holisticbias", "--version", "v1.0", "--from", source, "--format", style, "-o", out
    )
    assert ended.code == 0
    rows = pl.read_csv(out, infer_schema=False) if style == "csv" else pl.read_parquet(out)
    ended.says(f"{rows.height:,} sentences")
    assert {"axis", "descriptor", "template", "noun"} <= set(rows.columns)


@pytest.mark.parity
def test_sentences_themselves_are_classified_by_descriptor_and_template(evenhand, shared, tmp_path):
    """The commands of docs/how-to/reproduce_a_paper.md for Tables 12 and 13 of HolisticBias, on some sentences."""
    source, out = shared / "data" / "holisticbias" / "v1.0", tmp_path / "sentences.parquet"
    build = (
        "data",
        "build",
        "holisticbias",
        "--version",
        "v1.0",
        "--from",
        source,
        "--format",
        "parquet",
        "-o",
        out,
    )
    assert evenhand(*build).code == 0
    few = pl.read_parquet(out).filter(
        pl.col("descriptor").is_in(["poor", "Deaf", "Catholic"]),
        pl.col("template").is_in(
            ["I hate {plural_noun_phrase}.", "I'm {noun_phrase}.", "I love {plural_noun_phrase}."]
        ),
        pl.col("noun_gender") == "neutral",
    )
    few.write_parquet(out)
    columns = [option for pair in ("text=continuation", "descriptor=group", "template=group")
               for option in ("--column", pair)]  # fmt: skip
    ended = evenhand("measure", out, *columns, "--classifier", "vader", "-o", tmp_path / "offensiveness")
    assert ended.code == 0, ended.err
    judged = load_classifier("vader").classify(few["text"].to_list())
    expected = few.with_columns(negative=pl.Series(judged.negative))
    found = pl.read_parquet(tmp_path / "offensiveness" / "details" / "answers" / "groups.parquet")
    for axis in ("descriptor", "template"):
        rates = dict(expected.group_by(axis).agg(100 * pl.col("negative").mean()).iter_rows())
        assert len(rates) >= 2
        ours = dict(found.filter(pl.col("axis") == axis).select("group", "rate").iter_rows())
        assert ours == pytest.approx(rates)


@pytest.mark.parity
def test_fetched_from_a_folder_it_is_here(evenhand, shared, tmp_path):
    before = evenhand("data", "list")
    assert before.code == 0
    before.says("holisticbias v1.1", "not here · CC BY-SA 4.0")
    assert " here ·" not in before.out.replace("not here ·", "")
    for name, folder, version in (
        ("holisticbias", "holisticbias/v1.1", "v1.1"),
        ("crows-pairs", "crows_pairs", "1.0"),
        ("stereoset", "stereoset", "dev"),
    ):
        ended = evenhand("data", "fetch", name, "--from", shared / "data" / folder)
        assert ended.code == 0, ended.err
        ended.says(
            f"{name} {version} is in {tmp_path / 'cache' / name / version}",
            "Licence: CC BY-SA 4.0",
            "Please cite:",
        )
    lines = evenhand("data", "list").out.splitlines()
    state = {
        line.split()[0] + " " + line.split()[1]: "not here" not in line for line in lines if " · " in line
    }
    assert {name for name, here in state.items() if here} == {
        "holisticbias v1.1",
        "crows-pairs 1.0",
        "stereoset dev",
    }
    assert state["holisticbias v1.0"] is False
    assert evenhand("audit", "puppet/uniform", "-b", "crows-pairs", "--limit", 100, "-o", "run").code == 0


@pytest.mark.parity
def test_a_file_that_was_changed_is_refused_and_not_kept(evenhand, shared, tmp_path):
    folder = tmp_path / "mine"
    shutil.copytree(shared / "data" / "crows_pairs", folder)
    file = folder / "crows_pairs_anonymized.csv"
    file.write_bytes(file.read_bytes().replace(b"poor", b"kind", 1))
    ended = evenhand("data", "fetch", "crows-pairs", "--from", folder)
    ended.refused(1, str(file), "expected SHA-256 dfb36986", "Nothing was copied", "edited, or incomplete")
    assert not (tmp_path / "cache" / "crows-pairs" / "1.0").exists()
    named = evenhand(
        "audit", "puppet/uniform", "-b", "crows-pairs", "--set", f"data.crows-pairs={folder}", "-o", "r"
    )
    named.refused(
        1,
        str(file),
        "is not the published file of crows-pairs 1.0",
        "expected SHA-256",
        "evenhand data fetch crows-pairs",
    )
    assert not (tmp_path / "r").exists()


def test_data_that_is_not_here_says_how_to_get_it(evenhand, tmp_path):
    ended = evenhand("audit", "puppet/uniform", "-b", "stereoset", "-o", tmp_path / "run")
    ended.refused(
        1,
        f"{tmp_path / 'cache' / 'stereoset' / 'dev'} has no dev.json",
        "evenhand data fetch stereoset --version dev",
        "--from DIR",
        "Licence: CC BY-SA 4.0",
    )
    evenhand("data", "build", "holisticbias", "-o", "x.csv").refused(
        1, "descriptors.json", "evenhand data fetch"
    )
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"", ("contains no rows",)),
        (b"{ not json", ("is not valid JSON",)),
        (b'{"data": {}}', ("no key 'intrasentence'",)),
        (b"\xff\xfe\x00", ("is not valid JSON",)),
    ],
)
def test_a_corrupt_data_set_is_named(evenhand, tmp_path, content, parts):
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "dev.json").write_bytes(content)
    given = evenhand(
        "audit", "puppet/uniform", "-b", "stereoset", "--set", f"data.stereoset={folder}", "-o", "run"
    )
    given.refused(1, str(folder))
    fetched = evenhand("data", "fetch", "stereoset", "--from", folder)
    fetched.refused(1, "dev.json", "The file was discarded")
    if content:
        given.says(*parts)
        fetched.says(*parts)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (("fetch", "hollisticbias"), 2, ("Unknown data set: 'hollisticbias'", "Did you mean 'holisticbias'")),
        (("fetch", "holisticbias", "--version", "v2"), 2, ("Unknown version of holisticbias: 'v2'", "v1.0, v1.1")),
        (("fetch", "stereoset", "--from", "nowhere"), 1, ("Folder not found: nowhere.", "--from expects the folder")),
        (("build", "holistic", "-o", "x"), 2, ("Unknown sentence set: 'holistic'", "holisticbias")),
        (("build", "evenhand", "--format", "xlsx", "-o", "x"), 2, ("Unknown format: 'xlsx'", "csv, parquet")),
        (("build", "evenhand", "--version", "v1.1", "-o", "x"), 2, ("has no versions", "Remove --version")),
        (("build", "evenhand"), 2, ("Missing option", "--output")),
    ],
)  # fmt: skip
def test_wrong_requests(evenhand, tmp_path, arguments, code, parts):
    evenhand("data", *arguments).refused(code, *parts)
    assert not (tmp_path / "x").exists()


def test_our_own_set_is_built_without_any_download(evenhand, tmp_path):
    ended = evenhand("data", "build", "evenhand", "--format", "parquet", "-o", "ours.parquet")
    assert ended.code == 0
    rows = pl.scan_parquet(tmp_path / "ours.parquet")
    ended.says(f"{rows.select(pl.len()).collect().item():,} sentences")
    assert rows.select(pl.col("axis").n_unique()).collect().item() >= 13


@pytest.mark.parity
def test_a_full_disk_leaves_no_half_file(evenhand, shared, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "out.csv").write_text("what was there before")
    monkeypatch.setattr("evenhand.schema.files.os.fsync", full)
    source = shared / "data" / "holisticbias" / "v1.1"
    for arguments in (
        ("build", "holisticbias", "--from", source, "-o", "out.csv"),
        ("fetch", "holisticbias", "--from", source),
    ):
        evenhand("data", *arguments).refused(
            1, "Could not write", "No space left on device", "intact", "Free some space"
        )
    assert (tmp_path / "out.csv").read_text() == "what was there before"
    assert not [path for path in tmp_path.rglob("*.tmp")]


def test_texts_about_another_group_with_every_change_listed(evenhand, tmp_path):
    texts, out = tmp_path / "texts.txt", tmp_path / "review.csv"
    texts.write_text("She left her hat.\nIt rained.\n", encoding="utf-8")
    command = ("data", "counterfactuals", texts, "--axis", "gender", "--to", "male")
    ended = evenhand(*command, "-o", out)
    assert ended.code == 0, ended.err
    ended.says("1 of 2 texts changed, 2 changes", str(out))
    assert pl.read_csv(out)["to"].to_list() == ["He", "his"]
    whole = tmp_path / "whole.jsonl"
    assert evenhand(*command, "-o", whole).code == 0
    assert pl.read_ndjson(whole)["counterfactual"].to_list() == ["He left his hat.", "It rained."]


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        (("--axis", "gendre", "--to", "male", "-o", "x.csv"), 2, "Did you mean 'gender'"),
        (("--axis", "gender", "--to", "nonbinary", "-o", "x.csv"), 2, "Use --to female or --to male"),
        (("--axis", "religion", "--to", "Jewish", "--both", "-o", "x.csv"), 2, "--from GROUP"),
        (("--axis", "gender", "--to", "male", "-o", "x.xlsx"), 2, "unsupported file type"),
        (("--axis", "gender", "--to", "male", "--column", "prompt", "-o", "x.csv"), 1, "no column 'prompt'"),
    ],
)
def test_counterfactuals_refuse_what_cannot_be(evenhand, tmp_path, monkeypatch, given, code, says):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "texts.csv"
    file.write_text("text\nShe left.\n", encoding="utf-8")
    ended = evenhand("data", "counterfactuals", file, *given)
    assert ended.code == code
    assert says in ended.err
    assert not (tmp_path / "x.csv").exists()


def test_a_type_that_does_not_arrive_keeps_no_other_from_arriving(evenhand, owner):  # noqa: F811
    owner.gone.add(TRAINING)
    evenhand("data", "fetch", "redditbias", "--version", "all").refused(
        1,
        "redditbias gender could not be downloaded",
        "404",
        "religion1, religion2, race, gender, orientation; the others were downloaded",
    )
    assert cache_folder("redditbias", "humanref6k").is_dir()
    owner.gone.clear()
    ended = evenhand("data", "fetch", "redditbias", "--version", "gender")
    assert ended.code == 0, ended.err
    ended.says(
        "Not verified, because no checksum is known",
        "Their checksums were recorded at the first download",
        FIRST_FETCHED,
    )


def test_counterfactuals_of_own_prompts_are_written_for_review(evenhand, tmp_path):
    mine, out = tmp_path / "mine.txt", tmp_path / "review.csv"
    mine.write_text("She left.\nIt rained.\n")
    ended = evenhand("data", "build", "counterfactuals", mine, "--axis", "gender", "-o", out)
    assert ended.code == 0
    ended.says(
        "2 texts about 2 groups, made from 1 prompts", "--counterfactual reviewed", "mentions no group"
    )
    assert pl.read_csv(out)["text"].to_list() == ["She left.", "He left."]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("counterfactuals",), "counterfactuals requires a file of your prompts and at"),
        (
            ("counterfactuals", "x.csv", "--axis", "gender", "--bias", "race"),
            "cannot be used with counterfactuals",
        ),
        (("evenhand", "--axis", "gender"), "can only be used with counterfactuals, not with evenhand"),
    ],
)
def test_options_of_counterfactuals_and_of_others_are_kept_apart(evenhand, tmp_path, arguments, told):
    ended = evenhand("data", "build", *arguments, "-o", tmp_path / "out.csv")
    assert ended.code == 2
    ended.says(told)
