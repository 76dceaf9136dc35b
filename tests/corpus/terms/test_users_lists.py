"""Terms of a user, from each kind of file, and what is wrong in such files."""

import codecs
from pathlib import Path

import pytest

from evenhand.corpus import Matcher, build_terms
from evenhand.corpus.terms.users_lists import MOST_CHARACTERS
from evenhand.schema import DataError

COLUMNS = ("name", "axis", "group", "kind", "source")


def users_rows(path: Path) -> list[tuple[object, ...]]:
    terms = build_terms([str(path)]).terms
    return terms.filter(source=path.name).select(COLUMNS).rows()


def written(tmp_path: Path, content: str | bytes, name: str = "jobs.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("jobs.csv", b"term,axis,group,kind\nnurse,work,care,job\nair-line pilot,work,,job\n"),
        (
            "jobs.csv",
            codecs.BOM_UTF8 + b"Term,Axis ,GROUP,kind\r\nnurse,work,care,job\r\nair-line pilot,work,,job\r\n",
        ),
        ("jobs.tsv", b"term\taxis\tgroup\tkind\nnurse\twork\tcare\tjob\nair-line pilot\twork\t\tjob\n"),
        (
            "jobs.jsonl",
            b'{"term":"nurse","axis":"work","group":"care","kind":"job"}\n'
            b'{"term":"air-line pilot","axis":"work","group":null,"kind":"job"}\n',
        ),
    ],
)
def test_kinds_of_files(name: str, content: bytes, tmp_path: Path) -> None:
    assert users_rows(written(tmp_path, content, name)) == [
        ("air-line pilot", "work", None, "job", name),
        ("nurse", "work", "care", "job", name),
    ]


def test_a_column_of_terms_is_enough(tmp_path: Path) -> None:
    assert users_rows(written(tmp_path, "term\nnurse\n")) == [("nurse", "jobs", None, "jobs", "jobs.csv")]


def test_a_plain_file_has_a_term_a_line(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeffnurse\r\n\r\n air-line pilot \r\n", "jobs.txt")
    assert [row[0] for row in users_rows(path)] == ["air-line pilot", "nurse"]
    for content, said in (
        ("nurse\n\nNURSE\n", "line 3: the term 'NURSE' already occurs in line 1"),
        ("\n", "contains no term"),
    ):
        with pytest.raises(DataError, match=said):
            build_terms([str(written(tmp_path, content, "jobs.txt"))])


def test_plurals_are_those_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "term,plural\nalumna,alumnae\nhe or she,they both|both of them\nnurse,\n")
    table = build_terms([str(path)])
    spelt = {row["name"]: table.list_surfaces(row["term"]) for row in table.terms.iter_rows(named=True)}
    assert spelt["alumna"] == ["alumna", "alumnae"]
    assert spelt["he or she"] == ["he or she", "they both", "both of them"]
    assert spelt["nurse"] == ["nurse"]


def test_the_same_word_may_be_a_term_of_several_lists(tmp_path: Path) -> None:
    path = written(tmp_path, "term,group\nshe,a\nShe,b\n")
    table = build_terms([str(path), "pronouns"])
    hits = Matcher(table).find(["She"])
    groups = table.terms["group"].gather(table.surfaces["term"].gather(hits.surface))
    assert sorted(groups) == ["a", "b", "she"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("term,axis\n", "contains no rows"),
        ("word,axis\nnurse,work\n", r"has no column 'term' \(found: word, axis\)"),
        ("terms,axis\nnurse,work\n", "Is it 'terms'"),
        ("term,axes\nnurse,work\n", "Did you mean 'axis'"),
        ("term,term\nnurse,nurse\n", r"line 1: the column 'term' occurs 2 times \(columns 1, 2\)"),
        ("term,axis\nnurse,work\n,work\n", "row 2: the term is missing"),
        ("term,axis\n\" \",work\n", "row 1: the term is missing"),
        ("term,axis\nnurse,work\n!?-,work\n", "row 2: '!\\?-' contains no letter"),
        ("term,axis\n\u00ad\u200d,work\n", "row 1: .* contains no letter"),
        ("term,axis\n\"two\nlines\",work\n", "row 1: .* several lines"),
        (f"term\n{'x' * (MOST_CHARACTERS + 1)}\n", "row 1: a term of 201 characters"),
        ("term,axis\nair-line pilot,work\nnurse,work\nAir line  PILOT,work\n",
         "row 3: the term 'Air line .*PILOT' already occurs in row 1"),
        ("term,axis\nnurse,work,care\n", "row 1: it has 3 values"),
        ("term,plural\nnurse,!\n", "row 1: '!' contains no letter"),
        (b"term\nn\xfcrse\n", "line 2: byte 0xfc is not UTF-8"),
        (b"term\nnu\x00rse\n", "zero"),
    ],
)  # fmt: skip
def test_bad_files(content: str | bytes, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(DataError, match=said) as error:
        build_terms([str(path)])
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="File not found"):
        build_terms([str(tmp_path / "none.csv")])
