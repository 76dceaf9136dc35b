"""The built-in templates come in matched pairs; bad template files are refused by name."""

from collections import Counter, defaultdict
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from evenhand.prompts.language.templates import Template, load_templates
from evenhand.schema import DataError, UsageError


def test_counts_and_kinds() -> None:
    kinds = Counter(t.kind for t in load_templates())
    assert sum(n for kind, n in kinds.items() if kind != "seat") >= 24
    assert set(kinds) == {"neutral", "opinion", "question", "self_introduction", "seat"}
    assert min(kinds.values()) >= 6


def test_prefix_and_suffix_rebuild_the_text() -> None:
    for t in load_templates():
        gap = "{plural_noun_phrase}" if t.plural else "{noun_phrase}"
        assert t.prefix + gap + t.suffix == t.text
        assert t.text[-1] in ".?!"


def test_pairs_differ_only_in_what_they_contrast() -> None:
    pairs: dict[tuple[str, str], list[Template]] = defaultdict(list)
    for t in load_templates():
        if t.pair:
            pairs[t.kind, t.pair].append(t)
    assert Counter(kind for kind, _ in pairs) == {"opinion": 12, "seat": 12}
    for (kind, name), members in pairs.items():
        assert len(members) == 2, name
        one, two = members
        assert (one.plural, one.needs_noun) == (two.plural, two.needs_noun)
        if kind == "opinion":
            assert {one.valence, two.valence} == {"positive", "negative"}
        else:
            assert {one.humanising, two.humanising} == {True, False}
        same = SequenceMatcher(None, one.text.split(), two.text.split()).get_matching_blocks()
        shared = sum(block.size for block in same)
        allowed = 1 if kind == "opinion" else 3
        assert max(len(one.text.split()), len(two.text.split())) - shared <= allowed, name


def test_only_opinions_have_valence_and_only_seat_humanises() -> None:
    for t in load_templates():
        assert (t.valence is not None) == (t.kind == "opinion")
        assert (t.humanising is not None) == (t.kind == "seat")
        assert (t.pair is not None) == (t.kind in ("opinion", "seat"))


def test_the_one_word_that_differs_governs_the_people() -> None:
    """It stands near them, in its pair alone, and is none that proved to bear on something else."""
    pairs: dict[str, list[Template]] = defaultdict(list)
    for t in load_templates(kinds=["opinion"]):
        pairs[str(t.pair)].append(t)
    used: list[str] = []
    for kind, hostile in pairs.values():
        words = [one.text.rstrip(".").split() for one in (kind, hostile)]
        assert len(words[0]) == len(words[1])
        (place,) = [i for i, both in enumerate(zip(*words, strict=True)) if both[0] != both[1]]
        gap = next(i for i, word in enumerate(words[0]) if word.startswith("{"))
        assert 1 <= abs(place - gap) <= 4, kind.text
        used += [words[0][place], words[1][place]]
    assert len(set(used)) == 24
    assert not {"always", "never", "happy", "angry"} & set(used)


def test_selection_by_kind() -> None:
    assert {t.kind for t in load_templates(kinds=["question", "seat"])} == {"question", "seat"}
    with pytest.raises(UsageError, match="Did you mean 'question'"):
        load_templates(kinds=["questions"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "text", ["I like you.", "{noun_phrase} and {noun_phrase}.", "{noun_phrase} {x}", "{noun}"]
)
def test_one_gap_only(text: str) -> None:
    with pytest.raises(ValueError, match="exactly once"):
        Template(text=text, kind="neutral")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("templates = [", "not TOML"),
        ("", "no templates"),
        ('[[templates]]\ntext = "I am {noun_phrase}."\n', "'kind' is missing"),
        ('[[templates]]\ntext = "I am {noun_phrase}."\nkind = "song"\n', "got 'song'"),
        (
            '[[templates]]\ntext = "I am {noun_phrase}."\nkind = "neutral"\nvalance = "x"\n',
            "unknown key 'valance'",
        ),
        ('[[templates]]\ntext = "I am."\nkind = "neutral"\n', "template 1: template 'I am.'"),
        ('[[templates]]\ntext = 3\nkind = "neutral"\n', "text must be a text, got 3"),
        ("templates = [3]\n", "3 is not a table"),
        ('[[templates]]\ntext = "I am {noun_phrase}."\nkind = "neutral"\n' * 2, "occurs twice"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(content)
    with pytest.raises(DataError) as caught:
        load_templates(path=file)
    assert message in caught.value.message and "own.toml" in caught.value.message


def test_own_file_and_missing_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[[templates]]\ntext = "Meet {noun_phrase}."\nkind = "neutral"\n')
    assert [t.text for t in load_templates(path=file)] == ["Meet {noun_phrase}."]
    with pytest.raises(DataError, match="Could not read"):
        load_templates(path=tmp_path / "nowhere.toml")
