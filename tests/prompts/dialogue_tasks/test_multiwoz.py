"""MultiWOZ from archive and folder against what was written into them; damaged files."""

import io
import json
from pathlib import Path

import pytest

from evenhand.prompts.dialogue_tasks import multiwoz, read_multiwoz
from evenhand.prompts.dialogue_tasks.json_members import json_members
from evenhand.schema import DataError
from tests.prompts.dialogue_tasks.small import DEV, DIALOGUES, TEST, write_multiwoz

RENAMED = {"train-leaveAt": "train-leaveat"}


@pytest.mark.parametrize("archive", [False, True])
def test_turns_are_those_that_were_written(tmp_path: Path, archive: bool) -> None:
    data = read_multiwoz(write_multiwoz(tmp_path, archive=archive))
    for split, names in (
        ("test", TEST),
        ("dev", DEV),
        ("train", [n for n in DIALOGUES if n not in TEST + DEV]),
    ):
        turns = data.turns[split]  # type: ignore[index]
        assert [turn.dialogue for turn in turns] == [
            name for name in DIALOGUES if name in names for _ in DIALOGUES[name]
        ]
        for turn in turns:
            _, new, _ = DIALOGUES[turn.dialogue][turn.number]
            values = {RENAMED.get(k, k): "dontcare" if v == "dont care" else v for k, v in new.items()}
            assert dict(turn.slot_values) == values
            assert bool(turn.system) == bool(turn.number)
    assert data.left_out == {
        "an odd number of turns": 1,
        "a turn of more than 50 words": 1,
        "characters outside ASCII": 1,
    }
    assert data.ontology["hotel-price range"] == ("cheap", "moderate", "expensive")


def test_texts_are_written_as_trade_writes_them(tmp_path: Path) -> None:
    turns = {(t.dialogue, t.number): t for t in read_multiwoz(write_multiwoz(tmp_path)).turns["train"]}
    assert turns["SNG0001.json", 1].user == "for 2 nights , please ."
    assert turns["SNG0001.json", 1].system == "for how long ?"
    assert turns["SNG0003.json", 0].user == "a train that leaves after 9:15 , please ."
    assert turns["SNG0003.json", 1].user == "to ely and peterborough ."
    assert multiwoz.normalise_utterance("It's 5.50, at the B&B; call 01223 351 880!") == (
        "it s 5.50 , at the bed and breakfast , call 01223351880 !"
    )


def test_a_state_that_stays_is_not_new_and_one_that_changes_is(tmp_path: Path) -> None:
    said = [
        ("North.", {"hotel-area": "north"}, "Yes."),
        ("Please.", {}, "Yes."),
        ("South, rather.", {"hotel-area": "south"}, "Yes."),
    ]
    DIALOGUES["MUL0007.json"], kept = said, DIALOGUES["MUL0007.json"]
    try:
        turns = read_multiwoz(write_multiwoz(tmp_path)).turns["test"]
    finally:
        DIALOGUES["MUL0007.json"] = kept
    mine = [turn.slot_values for turn in turns if turn.dialogue == "MUL0007.json"]
    assert mine == [(("hotel-area", "north"),), (), (("hotel-area", "south"),)]


def test_large_objects_are_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    content = {"a": [1, 2.5, 'x\u00e9"}'], "": {"b": {}}, "c": -12, "d": None, "e": "\\"}
    whole = json.dumps(content, ensure_ascii=False, indent=2).encode()
    for size in (1, 2, 7, 1 << 20):
        monkeypatch.setattr("evenhand.prompts.dialogue_tasks.json_members.PIECE", size)
        assert dict(json_members(io.BytesIO(whole), "x.json", "")) == content
    assert list(json_members(io.BytesIO(b"\xef\xbb\xbf {} \n"), "x.json", "")) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": [1', "incomplete"),
        (b'{"a": 1', "incomplete"),
        (b'{"a"', "incomplete"),
        (b"", "incomplete"),
        (b"[1]", "does not begin with an object"),
        (b'{"a" 1}', "no colon"),
        (b'{"a": 1 "b": 2}', "no comma"),
        (b'{"a": 1} x', "there is text after the end of the object"),
        (b"{1: 2}", "is not a text"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'{"a": ' + b"[" * 100_000, "nested"),
    ],
)
def test_what_is_no_whole_object_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=f"(?s)x.json.*{message}"):
        list(json_members(io.BytesIO(content), "x.json", "hint"))


def test_files_that_are_wrong_say_which_and_how(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="File or folder not found"):
        read_multiwoz(tmp_path / "none.zip")
    with pytest.raises(DataError, match=r"(?s)has no testListFile.json.*MultiWOZ_2.0.zip of"):
        read_multiwoz(tmp_path)
    archive = write_multiwoz(tmp_path / "zip", archive=True)
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="incomplete"):
        read_multiwoz(archive)
    damaged = bytearray(whole)
    damaged[200:230] = bytes(30)
    archive.write_bytes(bytes(damaged))
    with pytest.raises(
        DataError, match=r"MultiWOZ_2\.0\.zip: data\.json in the archive is damaged: Error -3"
    ):
        read_multiwoz(archive)
    folder = write_multiwoz(tmp_path / "folder")
    (folder / "data.json").write_text('{"SNG0001.json": {"turns": []}}')
    with pytest.raises(DataError, match=r"'SNG0001.json' is not of MultiWOZ 2.0"):
        read_multiwoz(folder)
    (folder / "data.json").write_text("{}")
    with pytest.raises(DataError, match="no dialogue for train and test"):
        read_multiwoz(folder)
    write_multiwoz(folder)
    (folder / "ontology.json").write_text("[1]")
    with pytest.raises(DataError, match="is not a mapping of slots to their values"):
        read_multiwoz(folder)


@pytest.mark.parametrize(("at", "value", "said"), [(6, 1, "encrypted"), (8, 99, "compression method")])
def test_archives_that_python_cannot_unpack(tmp_path: Path, at: int, value: int, said: str) -> None:
    archive = write_multiwoz(tmp_path, archive=True)
    content = bytearray(archive.read_bytes())
    for mark, place in ((b"PK\3\4", at), (b"PK\1\2", at + 2)):
        found = content.find(mark)
        while found >= 0:
            content[found + place] = value
            found = content.find(mark, found + 1)
    archive.write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_multiwoz(archive)


def test_members_that_unpack_to_far_more_than_the_owners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = write_multiwoz(tmp_path, archive=True)
    monkeypatch.setattr(multiwoz, "MOST_BYTES", 8)
    with pytest.raises(DataError, match="contains more than"):
        read_multiwoz(archive)


@pytest.mark.parametrize("content", ['{"a": "' + "x" * 3_000_000 + '"}', "{" + " " * 3_000_000 + "}"])
def test_one_value_or_blanks_without_end(content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.prompts.dialogue_tasks.json_members.MOST_CHARACTERS", 1 << 20)
    with pytest.raises(DataError, match="million"):
        list(json_members(io.BytesIO(content.encode()), "x.json", ""))
