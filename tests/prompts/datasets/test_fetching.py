"""Files whose checksums nobody knows: fetched from a server, counted, recorded, and compared from then on."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.mitigations.training import published_texts
from evenhand.prompts.datasets import first_fetched, register
from evenhand.prompts.datasets.fetching import fetch
from evenhand.prompts.datasets.register import DataFile, Dataset, cache_folder, verify
from evenhand.prompts.datasets.unpinned import FIRST_FETCHED
from evenhand.prompts.redditbias import load_redditbias, specification
from evenhand.schema import ChecksumMismatch, DataError
from tests.prompts.datasets.test_download import Server
from tests.prompts.redditbias.test_pairs import write_type

TRAINING = "gender_bias_manual_train.txt"


class Owner:
    """Serves a copy of the owners' repository, and the register as it would name it there."""

    def __init__(self, server: Server, repository: Path):
        self.server, self.repository, self.gone = server, repository, set[str]()
        server.behaviours = [self.answer]
        write_type(repository / "data" / "gender", "gender")
        texts = repository / "text_files"
        (texts / "gender").mkdir(parents=True)
        lines = "".join(f"the female said no {i}\n" for i in range(6))
        (texts / "gender" / TRAINING).write_text(lines)
        (texts / "humanref6k.txt").write_text("How are you?\nFine.\n")

    def answer(self, request: Any, _: int) -> None:
        path = self.repository / request.path.lstrip("/")
        there = path.is_file() and path.name not in self.gone
        content = path.read_bytes() if there else b""
        request.send_response(200 if there else 404)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    def offered(self, version: str, file: DataFile) -> DataFile:
        """The file at the address of this server; gender's counts are those of four pairs and six phrases."""
        below = self.server.url.rpartition("/")[0]
        rows = {".csv": 4, ".txt": 6}[Path(file.path).suffix] if version == "gender" else None
        known = file.sha256 if version == "race" else None
        where = file.url.partition("428503f8fb92/")[2] or file.instead[0]
        return replace(file, url=f"{below}/{where}", sha256=known, size=None, rows=rows)

    def register(self) -> tuple[Dataset, ...]:
        return tuple(
            replace(
                entry,
                versions=tuple(
                    replace(version, files=tuple(self.offered(version.name, file) for file in version.files))
                    for version in entry.versions
                ),
            )
            if entry.name == "redditbias"
            else entry
            for entry in register.list_datasets()
        )


@pytest.fixture
def owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Owner]:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))
    server = Server()
    made = Owner(server, tmp_path / "theirs")
    entries = made.register()
    monkeypatch.setattr(register, "list_datasets", lambda: entries)
    yield made
    server.close()


def test_all_that_audits_and_trainings_need_arrives_and_is_recorded(owner: Owner, tmp_path: Path) -> None:
    fetched = fetch("redditbias", "gender")
    assert len(fetched.downloaded) == 5 and TRAINING in fetched.downloaded
    assert fetched.unchecked == fetched.downloaded and fetched.recorded.startswith("20")
    record = json.loads((tmp_path / "cache" / "redditbias" / FIRST_FETCHED).read_text())["gender"]
    content = (owner.repository / "text_files" / "gender" / TRAINING).read_bytes()
    assert record[TRAINING]["sha256"] == hashlib.sha256(content).hexdigest()
    assert record[TRAINING]["source"].endswith(f"/text_files/gender/{TRAINING}")
    fetch("redditbias", "humanref6k")
    material, validation = published_texts(specification("gender"))
    assert material.texts == tuple(f"the female said no {i}" for i in range(6))
    assert f"the files are as first fetched on {fetched.recorded}" in material.source
    assert len(validation.check.texts) == 8 and validation.neutral == ("How are you?", "Fine.")
    details = load_redditbias(bias_types=["gender"]).card.details
    assert f"gender: no checksum is known; the files are as first fetched on {fetched.recorded}" in details


def test_what_was_fetched_first_must_be_what_is_fetched_later(owner: Owner, tmp_path: Path) -> None:
    folder = fetch("redditbias", "gender").folder
    theirs = owner.repository / "text_files" / "gender" / TRAINING
    original = theirs.read_text()
    theirs.write_text(original.replace("0", "7"))
    assert fetch("redditbias", "gender").downloaded == ()  # what is here stays, and nobody is asked
    (folder / TRAINING).unlink()
    with pytest.raises(ChecksumMismatch, match="differs from the file that was first downloaded on") as told:
        fetch("redditbias", "gender")
    assert FIRST_FETCHED in str(told.value) and not (folder / TRAINING).exists()
    theirs.write_text(original)
    assert fetch("redditbias", "gender").downloaded == (TRAINING,)
    # neither is another file used that came into the cache by other means
    (folder / TRAINING).write_text(original.replace("0", "7"))
    with pytest.raises(ChecksumMismatch, match="differs from the file that was first downloaded on"):
        verify(folder, "redditbias", "gender")
    # a cache that was emptied remembers
    for path in folder.iterdir():
        path.unlink()
    theirs.write_text(original.replace("0", "7"))
    with pytest.raises(ChecksumMismatch, match="differs from the file that was first downloaded on"):
        fetch("redditbias", "gender")
    # whoever trusts the other one forgets the first
    record = tmp_path / "cache" / "redditbias" / FIRST_FETCHED
    told_of = json.loads(record.read_text())
    del told_of["gender"][TRAINING]
    record.write_text(json.dumps(told_of))
    assert TRAINING in fetch("redditbias", "gender").downloaded


@pytest.mark.parametrize(
    "wrong", [b"", b"<html>Please log in</html>", b"a,b\n1,2\n" * 3, b'"\n' * 7, b"\0" * 99]
)
def test_a_file_of_another_length_is_refused(owner: Owner, wrong: bytes) -> None:
    name = "reddit_comments_gender_male_biased_valid_reduced.csv"
    (owner.repository / "data" / "gender" / name).write_bytes(wrong)
    with pytest.raises(ChecksumMismatch, match="rows, but the published file has"):
        fetch("redditbias", "gender")
    with pytest.raises(ChecksumMismatch, match="rows, but the published file has 4"):
        fetch("redditbias", "gender", from_dir=owner.repository)
    assert not cache_folder("redditbias", "gender").exists()
    assert not (cache_folder("redditbias", "gender").parent / FIRST_FETCHED).exists()


def test_a_copy_without_training_texts_is_enough_for_audits(owner: Owner) -> None:
    (owner.repository / "text_files" / "gender" / TRAINING).unlink()
    fetched = fetch("redditbias", "gender", from_dir=owner.repository)
    assert [file.path for file in fetched.lacking] == [TRAINING] and len(fetched.downloaded) == 4
    assert load_redditbias(bias_types=["gender"]).frame.height == 8
    with pytest.raises(DataError, match=f"(?s)has neither {TRAINING} nor .*evenhand data fetch redditbias"):
        published_texts(specification("gender"))


def test_a_folder_of_the_users_is_not_said_to_be_fetched(owner: Owner) -> None:
    fetch("redditbias", "gender")
    assert first_fetched("redditbias", "gender", owner.repository) == ""
    details = load_redditbias(owner.repository, bias_types=["gender"]).card.details
    assert "gender: no checksum is known; taken as they are" in details


def test_a_record_that_cannot_be_read_counts_as_none(owner: Owner) -> None:
    record = fetch("redditbias", "gender").folder.with_name(FIRST_FETCHED)
    for broken in (
        "",
        "[]",
        '{"gender": 3}',
        '{"gender": {"a": {"sha256": 1}}}',
        "\udcff".encode("utf-8", "replace").decode(),
    ):
        record.write_text(broken)
        assert fetch("redditbias", "gender").recorded


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "own"))
    return tmp_path / "own" / "ssa-names"


def names_of(folder: Path, births: int, years: range = range(1920, 2020)) -> Path:
    folder.mkdir()
    with zipfile.ZipFile(folder / "names.zip", "w") as archive:
        for year in years:
            archive.writestr(f"yob{year}.txt", f"Mary,F,{births}\n")
    return folder


def test_what_cannot_be_read_is_neither_kept_nor_recorded(own_cache: Path, tmp_path: Path) -> None:
    wrong = {
        b"": "It is empty",
        b"<html>denied</html>": "it is incomplete, or the server sent something else",
        names_of(tmp_path / "few", 3, range(1920, 1990)).joinpath("names.zip").read_bytes(): (
            "30 of the years 1920 to 2019 are missing .the first"
        ),
    }
    (source := tmp_path / "source").mkdir()
    for content, message in wrong.items():
        (source / "names.zip").write_bytes(content)
        with pytest.raises(ChecksumMismatch, match=message):
            fetch("ssa-names", from_dir=source)
        assert not any(own_cache.rglob("*.*"))
    assert fetch("ssa-names", from_dir=names_of(tmp_path / "good", 3)).downloaded == ("names.zip",)
    # what came into the cache by other means is read, too, before it is recorded
    (own_cache / FIRST_FETCHED).unlink()
    (own_cache / "national" / "names.zip").write_bytes(b"<html>")
    with pytest.raises(ChecksumMismatch, match="it is incomplete, or the server sent something else"):
        fetch("ssa-names")
    assert not (own_cache / FIRST_FETCHED).exists()


def test_a_folder_with_another_file_replaces_nothing_and_is_told_how(own_cache: Path, tmp_path: Path) -> None:
    old, new = names_of(tmp_path / "old", 3), names_of(tmp_path / "new", 4)
    fetch("ssa-names", from_dir=old)
    assert fetch("ssa-names", from_dir=old).downloaded == ()
    here = own_cache / "national" / "names.zip"
    with pytest.raises(ChecksumMismatch, match="differs from the file that is already installed") as told:
        fetch("ssa-names", from_dir=new)
    assert f"delete {here} and its entry in {own_cache / FIRST_FETCHED}" in str(told.value)
    assert here.read_bytes() == (old / "names.zip").read_bytes()
    here.unlink()
    (own_cache / FIRST_FETCHED).write_text("{}")
    assert fetch("ssa-names", from_dir=new).downloaded == ("names.zip",)
    assert here.read_bytes() == (new / "names.zip").read_bytes()
