"""`evenhand frequencies`: a corpus counted and shown, gone on with, planned, and refused in words."""

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from evenhand.corpus import read_counts, write_counts
from evenhand.schema import write_table


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    file = tmp_path / "talk.jsonl"
    texts = ["She is a deaf woman.", "He saw them.", "Young people said that they met.", "Nothing."] * 10
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts) + "{broken\n")
    return file


def test_a_corpus_is_counted_shown_and_shown_again(evenhand, talk: Path) -> None:
    done = evenhand("frequencies", f"web={talk}", "-o", "counts", "--terms", "pronouns,descriptors")
    assert done.code == 0, done.err
    done.says("web 40", "she", "folder: counts", "report: counts/report.html")
    for name in ("report.html", "frequencies.json", "terms.json", "tables/frequencies.parquet"):
        assert Path("counts", name).is_file(), name
    frequencies = pl.read_csv("counts/tables/frequencies.csv")
    assert frequencies.filter(name="Deaf")["documents"].to_list() == [10]
    numbers = json.loads(Path("counts/frequencies.json").read_text())
    assert numbers["corpora"][0]["documents"] == 40 and numbers["broken_share"] == pytest.approx(1 / 41)
    talk.unlink()
    again = evenhand("frequencies", "counts")
    assert (again.code, again.out) == (0, done.out)
    evenhand("frequencies", "counts", "--seed", 3).refused(
        2, "counts is an existing count, so seed (--seed) cannot be changed"
    )
    evenhand("frequencies", "counts", "--plan").refused(2, "Remove --plan")
    evenhand("report", "counts").says("report: counts/report.html")


def test_more_broken_documents_than_allowed_end_with_3(evenhand, talk: Path) -> None:
    ended = evenhand("frequencies", talk, "-o", "counts", "--error-threshold", 0.01)
    assert ended.code == 3
    ended.says("2.4% of the documents could not be read, more than the threshold allows")
    assert Path("counts/report.html").is_file()
    assert evenhand("frequencies", "counts", "--error-threshold", 0.1).code == 0


def test_a_plan_says_what_would_be_read_and_writes_nothing(evenhand, talk: Path) -> None:
    before = set(Path().rglob("*"))
    told = evenhand("frequencies", talk, "--plan", "--workers", 2)
    assert told.code == 0, told.err
    told.says(
        "Plan (nothing is written)", f"Files: 1 ({talk.stat().st_size / 1000:.1f} kB as stored)", "Time:"
    )
    assert set(Path().rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (("nowhere.jsonl",), 1, ("File or folder not found: nowhere.jsonl",)),
        (("talk.jsonl", "--column", "body"), 1, ("has a text in 'body'", "--column text")),
        (("talk.jsonl", "--terms", "pronoun"), 2, ("Did you mean 'pronouns'",)),
        (("talk.jsonl", "--terms", "pronouns,"), 2, ("`--terms` contains an empty name",)),
        (("talk.jsonl", "--sample", "2"), 2, ("sample: '2' is more than 100%: for a percentage, write 2%",)),
        (("talk.jsonl", "--set", "windows=3"), 2, ("Did you mean 'window'?",)),
        (("talk.jsonl", "--duplicates", "maybe"), 2, ("duplicates: expected 'keep' or 'drop', got 'maybe'",)),
        (("talk.jsonl", "--on", "moon"), 2, ("unknown value 'moon'; expected one of local",)),
        (("talk.jsonl", "--pairs", "descriptor*house"), 2, ("Unknown pairs of terms",)),
        (("talk.jsonl", "-o", ""), 2, ("The name of the output folder is empty",)),
        (
            ("talk.jsonl", "-o", "s3://bucket/x"),
            2,
            ("the folder of a count must be on this machine", "--ranks-at s3://BUCKET/PATH"),
        ),
        (("talk.jsonl", "-o", "talk.jsonl"), 2, ("talk.jsonl is a file, but a folder was expected",)),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_written(
    evenhand, talk: Path, arguments: tuple[str, ...], code: int, parts: tuple[str, ...]
) -> None:
    before = set(Path().rglob("*"))
    evenhand("frequencies", *arguments).refused(code, *parts)
    assert set(Path().rglob("*")) == before


def unfinished(folder: str, **changed: object) -> None:
    """Have a finished folder look like one that somebody else begun, with other options."""
    Path(folder, "counts.parquet").unlink()
    record = Path(folder, "frequencies-options.json")
    content = json.loads(record.read_text())
    content["count"]["options"] |= changed
    record.write_text(json.dumps(content))


ELSEWHERE = [
    ({"on": "ray://evil:1"}, ("A folder alone is not permission for that", "--on ray://evil:1")),
    (
        {"on": "slurm", "slurm": {"env_command": "touch evil"}},
        ("A folder alone is not permission for that", "--on slurm --set slurm.env_command=..."),
    ),
    ({"on": "datatrove"}, ("A folder alone is not permission for that", "--on datatrove")),
    ({"ranks_at": "s3://evil/x"}, ("A folder alone is not permission for that", "--ranks-at s3://evil/x")),
    ({"sources": ["http://evil/x.txt"]}, ("reads http://evil/x.txt", "--trust-addresses")),
]


def test_a_stranger_s_folder_asks_no_machine_elsewhere(evenhand, talk: Path) -> None:
    assert evenhand("frequencies", talk, "-o", "counts", "--terms", "pronouns").code == 0
    for number, (changed, parts) in enumerate(ELSEWHERE):
        shutil.copytree("counts", f"counts-{number}")
        unfinished(f"counts-{number}", **changed)
        evenhand("frequencies", f"counts-{number}").refused(2, *parts)
    assert evenhand("frequencies", talk, "-o", "counts-0", "--terms", "pronouns").code == 0


UNDIVIDED = [
    ({"sources": ["s3://evil/x.txt"]}, "s3://evil/x.txt"),
    ({"sources": ["one=http://evil/x.txt"]}, "http://evil/x.txt"),
    ({"sources": ["one=//evil/x.txt"]}, "//evil/x.txt"),
    ({"terms": ["https://evil/terms.csv"]}, "https://evil/terms.csv"),
    ({"data": {"holisticbias": "\\\\evil\\share"}}, "evil"),
]


def test_nor_does_one_whose_division_was_taken_out(evenhand, talk: Path, monkeypatch) -> None:
    """A sum says that nothing is read; without the division beside it all would be planned anew."""
    assert evenhand("frequencies", talk, "-o", "counts", "--terms", "pronouns").code == 0
    total = Path("counts/counts.parquet").read_bytes()
    monkeypatch.setattr(
        "evenhand.studies.frequencies.conduct.planned", lambda *_: pytest.fail("it was asked")
    )
    for number, (changed, address) in enumerate(UNDIVIDED):
        here = Path(f"counts-{number}")
        shutil.copytree("counts", here)
        unfinished(str(here), **changed)
        (here / "counts.parquet").write_bytes(total)
        (here / "pieces.parquet").unlink()
        evenhand("frequencies", here).refused(2, address, "--trust-addresses")


def test_a_division_of_other_files_than_the_record_names_is_refused(evenhand, talk: Path) -> None:
    assert evenhand("frequencies", talk, "-o", "counts", "--terms", "pronouns").code == 0
    unfinished("counts")
    pieces = pl.read_parquet("counts/pieces.parquet")
    write_table(Path("counts/pieces.parquet"), pieces.with_columns(address=pl.lit("http://evil/x.jsonl")))
    evenhand("frequencies", talk, "-o", "counts", "--terms", "pronouns").refused(
        1, "lists other files than the count started with"
    )


def lines_of(documents: int) -> bytes:
    return "".join(json.dumps({"text": f"She has {n * n} books."}) + "\n" for n in range(documents)).encode()


def as_parquet(path: Path, content: bytes) -> None:
    pl.read_ndjson(content).write_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-8] + b"\xff\xff\xff\x7f" + whole[-4:])


def cut(path: Path, content: bytes) -> None:
    packed = gzip.compress(content)
    path.write_bytes(packed[: len(packed) // 2])


@pytest.mark.parametrize(
    ("name", "damage", "least", "most", "told"),
    [
        ("b.parquet", as_parquet, 0.25, 0.75, "all of it is lost"),
        ("b.jsonl.gz", cut, 0.1, 0.4, "as much again is assumed"),
    ],
)
def test_the_rest_of_a_damaged_file_weighs_as_many_documents(
    evenhand,
    tmp_path: Path,
    name: str,
    damage: Callable[[Path, bytes], None],
    least: float,
    most: float,
    told: str,
) -> None:
    content = lines_of(3000)
    if name.endswith("parquet"):
        pl.read_ndjson(content).write_parquet(tmp_path / "a.parquet")
    else:
        (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(content))
    damage(tmp_path / name, content)
    ended = evenhand("frequencies", f"web={tmp_path}", "-o", "counts", "--terms", "pronouns")
    assert ended.code == 3, (ended.out, ended.err)
    ended.says(name, told, "could not be read")
    assert told in Path("counts/report.html").read_text()
    assert least < json.loads(Path("counts/frequencies.json").read_text())["broken_share"] < most
    assert evenhand("frequencies", "counts", "--error-threshold", "0.8").code == 0


def test_counts_of_terms_that_the_table_lacks_are_refused(evenhand, talk: Path) -> None:
    assert evenhand("frequencies", talk, "-o", "counts", "--terms", "pronouns").code == 0
    counts = read_counts("counts/counts.parquet")
    odd = counts.terms.with_columns(term=pl.lit(10**6, dtype=pl.UInt32))
    write_counts("counts/counts.parquet", replace(counts, terms=odd))
    evenhand("frequencies", "counts").refused(
        1, "counts/counts.parquet does not match the count", "terms.json"
    )


def test_a_corpus_s_name_is_no_formula_in_a_spreadsheet(evenhand, talk: Path) -> None:
    talk.rename("=1+1.jsonl")
    assert evenhand("frequencies", "./=1+1.jsonl", "-o", "counts", "--terms", "pronouns").code == 0
    corpora = [
        pl.read_csv(path)["corpus"].unique().to_list() for path in Path("counts/tables").glob("[cfg]*.csv")
    ]
    assert corpora and all(name.startswith("'=1") for names in corpora for name in names)
    assert pl.read_parquet("counts/tables/frequencies.parquet")["corpus"][0].startswith("=1")
