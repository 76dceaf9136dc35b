"""Label files: every documented form gives the same names, whatever is wrong is said."""

import json

import pytest

from evenhand.classifiers.text_classification_options import read_labels
from evenhand.schema import DataError

NAMES = ("Calm", "Hateful", "Warm", "Kind", "Witty", "Vain", "Bold", "Sad", "Odd", "Shy", "Gruff")


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("txt", "\n".join(NAMES)),
        ("txt", "\r\n".join(NAMES) + "\r\n\r\n"),
        ("json", json.dumps(NAMES)),
        # in the order of the words, "10" stands before "2"
        ("json", json.dumps(dict(sorted((str(i), name) for i, name in enumerate(NAMES))))),
        ("json", json.dumps({name: i for i, name in reversed(list(enumerate(NAMES)))})),
    ],
)
def test_all_forms_agree(tmp_path, suffix, content):
    path = tmp_path / f"labels.{suffix}"
    path.write_text(content, newline="")
    assert read_labels(path) == NAMES


@pytest.mark.parametrize(
    ("suffix", "content", "match"),
    [
        ("txt", "", "is empty"),
        ("txt", "a\n\nb", "is not a valid name"),
        ("txt", "a\nb\na", "a twice"),
        ("json", "[1, 2]", "is not a valid name"),
        ("json", '{"0": "a", "2": "b"}', r"0/labels\.json must be 0 to 1, each once"),
        ("json", '{"a": 0, "b": 0}', r"0/labels\.json must be 0 to 1, each once"),
        ("json", '"a"', "neither a list"),
        ("json", "[", "cannot be read"),
    ],
)
def test_broken_files(tmp_path, suffix, content, match):
    path = tmp_path / f"labels.{suffix}"
    path.write_text(content)
    with pytest.raises(DataError, match=match):
        read_labels(path)
    with pytest.raises(DataError, match="Label file not found"):
        read_labels(tmp_path / "none.txt")


@pytest.mark.parity
def test_the_published_styles(shared):
    names = read_labels(shared / "data" / "styles" / "style_classes_217.txt")
    assert len(names) == 217 and names == tuple(sorted(names))
