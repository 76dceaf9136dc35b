"""The register of data sets: what is pinned, what is found, what is fetched, and what is refused."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from evenhand.prompts.datasets import fetching
from evenhand.prompts.datasets.fetching import fetch
from evenhand.prompts.datasets.register import (
    DataFile,
    Dataset,
    DataVersion,
    cache_folder,
    dataset,
    dataset_folder,
    list_datasets,
    read_register,
    recognised_version,
    verify,
)
from evenhand.schema import ChecksumMismatch, DataError, DatasetMissing, UsageError, WriteError

FOLDERS = {
    ("tzioumis", "1.3"): "names",
    ("holisticbias", "v1.0"): "holisticbias/v1.0",
    ("holisticbias", "v1.1"): "holisticbias/v1.1",
    ("crows-pairs", "1.0"): "crows_pairs",
    ("stereoset", "dev"): "stereoset",
    ("bold", "2021"): "bold",
    ("toxigen-v2", "v2"): "toxigen_v2",
    ("realtoxicityprompts", "challenging-neutral"): "realtoxicityprompts",
    ("wikitext", "wikitext-2-test"): "wikitext2",
    ("redditbias", "religion1"): "redditbias",
    ("redditbias", "race"): "redditbias",
    ("redditbias", "humanref6k"): "redditbias",
}


UNCHECKED = {("multiwoz", "2.0"), ("dstc7", "task2"), ("ssa-names", "national")} | {
    ("redditbias", bias) for bias in ("religion2", "gender", "orientation")
}
"""Versions whose owners' files were not at hand when they were registered."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def toy(*contents: bytes, content: str = "", content_sha256: str = "") -> tuple[Dataset, ...]:
    files = tuple(
        DataFile(f"{i}.txt", f"http://nowhere.invalid/{i}.txt", hashlib.sha256(c).hexdigest(), len(c))
        for i, c in enumerate(contents)
    )
    version = DataVersion("1", files, content, content_sha256)
    return (Dataset("toy", "a toy", "1", "home", "CC0", "Somebody (2020)", "", (version,)),)


def test_the_register_is_complete() -> None:
    assert {(d.name, v.name) for d in list_datasets() for v in d.versions} >= set(FOLDERS)
    for entry in list_datasets():
        assert entry.licence and entry.citation and entry.homepage.startswith("https://") and entry.summary
        assert entry.version().name == entry.default_version
        for version in entry.versions:
            pinned = version.content_sha256 or all(file.sha256 and file.size for file in version.files)
            assert pinned != ((entry.name, version.name) in UNCHECKED) and bool(
                version.unchecked_files
            ) != bool(pinned)
            assert all(file.url.startswith("https://") or entry.name == "dstc7" for file in version.files)


def test_names_are_suggested() -> None:
    with pytest.raises(UsageError, match=r"Unknown data set: 'stereo-set'\. Did you mean 'stereoset'"):
        dataset("stereo-set")
    with pytest.raises(UsageError, match=r"Unknown version of holisticbias: 'v1\.2'"):
        dataset("holisticbias").version("v1.2")


@pytest.mark.parity
@pytest.mark.parametrize(("name", "version"), list(FOLDERS))
def test_published_files_pass_and_are_copied(shared: Path, name: str, version: str) -> None:
    given = shared / "data" / FOLDERS[name, version]
    assert dataset_folder(name, version, given) == given
    with pytest.raises(DatasetMissing, match=f"evenhand data fetch {name} --version {version}"):
        dataset_folder(name, version)
    got = fetch(name, version, from_dir=given)
    assert got.folder == cache_folder(name, version) == dataset_folder(name, version)
    assert got.downloaded and got.dataset.licence
    assert sorted(p.name for p in got.folder.iterdir()) == sorted(got.downloaded)
    assert [p.name for p in got.folder.parent.iterdir()] == [version]
    assert fetch(name, version).downloaded == ()  # all there: no network is needed
    assert [p.name for p in got.folder.parent.iterdir()] == [version]


def test_a_file_without_checksum_is_taken_as_it_comes_and_that_is_said(tmp_path: Path) -> None:
    (bare,) = toy(b"one")
    version = replace(bare.versions[0], files=(replace(bare.versions[0].files[0], sha256=None, size=None),))
    register = (replace(bare, versions=(version,)),)
    source = tmp_path / "theirs"
    source.mkdir()
    (source / "0.txt").write_bytes(b"anything")
    got = fetch("toy", from_dir=source, register=register)
    assert (got.downloaded, got.unchecked) == (("0.txt",), ("0.txt",))
    assert (got.folder / "0.txt").read_bytes() == b"anything"
    assert fetch("toy", from_dir=source, register=register).downloaded == ()  # it is there


@pytest.mark.parity
def test_versions_are_recognised(shared: Path, tmp_path: Path) -> None:
    base = shared / "data" / "holisticbias"
    assert recognised_version("holisticbias", base / "v1.0") == "v1.0"
    assert recognised_version("holisticbias", base / "v1.1") == "v1.1"
    assert recognised_version("holisticbias", tmp_path) is None
    assert dataset_folder("holisticbias", "v1.0", base) == base / "v1.0"


@pytest.mark.parity
def test_a_changed_file_is_refused_unless_allowed(shared: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(shared / "data/holisticbias/v1.1", mine)
    nouns = mine / "nouns.json"
    before = dataset_folder("holisticbias", user_folder=mine)
    nouns.chmod(0o644)
    nouns.write_text(nouns.read_text().replace("gal", "gel"))
    with pytest.raises(
        ChecksumMismatch,
        match=r"nouns\.json is not the published file of holisticbias v1\.1: expected SHA-256 9bbe15bf\w+, got \w{64}",
    ) as caught:
        dataset_folder("holisticbias", user_folder=mine)
    assert "evenhand data fetch" in str(caught.value)
    assert dataset_folder("holisticbias", user_folder=mine, allow_modified=True) == before
    with pytest.raises(ChecksumMismatch, match="Nothing was copied"):
        fetch("holisticbias", from_dir=mine)
    assert not cache_folder("holisticbias", "v1.1").exists()


@pytest.mark.parity
def test_changed_stereoset_rows_are_refused(shared: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    text = (shared / "data/stereoset/dev.csv").read_text(encoding="utf-8")
    (mine / "dev.csv").write_text(text.replace("hispanic", "Hispanic", 1), encoding="utf-8")
    with pytest.raises(ChecksumMismatch, match="expected content hash"):
        dataset_folder("stereoset", user_folder=mine)
    with pytest.raises(
        ChecksumMismatch, match=r"does not contain the published rows .*The file was discarded"
    ):
        fetch("stereoset", from_dir=mine)
    (mine / "dev.csv").write_text("<html>")
    with pytest.raises(ChecksumMismatch, match="has no columns 'dataset_type'"):
        fetch("stereoset", from_dir=mine)
    assert not cache_folder("stereoset", "dev").exists()


def test_a_missing_set_says_both_commands(cache: Path) -> None:
    with pytest.raises(DatasetMissing) as caught:
        dataset_folder("crows-pairs")
    message = str(caught.value)
    assert str(cache / "crows-pairs" / "1.0") in message
    assert "evenhand data fetch crows-pairs --version 1.0\n" in message and "--from DIR" in message
    assert "CC BY-SA 4.0" in message


def test_the_default_cache_is_in_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENHAND_DATA")
    assert cache_folder("a", "b") == Path.home() / ".cache/evenhand/data/a/b"


def test_fetch_from_the_wrong_folder(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("x")
    with pytest.raises(DataError, match=r"has no 0\.txt; found: .*other\.txt"):
        fetch("toy", from_dir=tmp_path, register=toy(b"zero"))
    with pytest.raises(DataError, match=r"Folder not found: .*nowhere"):
        fetch("toy", from_dir=tmp_path / "nowhere", register=toy(b"zero"))


def test_a_folder_that_is_not_there_is_told_even_of_a_set_that_is(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "0.txt").write_text("zero")
    fetch("toy", from_dir=tmp_path, register=toy(b"zero"))
    with pytest.raises(DataError, match=r"Folder not found: .*nowhere"):
        fetch("toy", from_dir=tmp_path / "nowhere", register=toy(b"zero"))


def test_a_fetch_from_a_folder_that_fails_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "0.txt").write_text("zero")
    with pytest.raises(DataError, match=r"has no 1\.txt"):
        fetch("toy", from_dir=tmp_path, register=toy(b"zero", b"one"))
    assert not list((cache / "toy").iterdir())


def test_fetch_downloads_only_what_is_missing(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    contents = (b"zero", b"one", b"two")
    register, asked, failing = toy(*contents), [], {"2.txt"}

    def fake_download(url: str, target: Path, **_: object) -> None:
        asked.append(target.name)
        if target.name in failing:
            raise DataError(f"{url}: the server answered 404.")
        target.write_bytes(contents[int(target.name[0])])

    monkeypatch.setattr(fetching, "download", fake_download)
    with pytest.raises(DataError, match="404"):
        fetch("toy", register=register)
    assert not (cache / "toy" / "1").exists()  # nothing half-done is seen by others
    failing.clear()
    got = fetch("toy", register=register)
    assert asked == ["0.txt", "1.txt", "2.txt", "2.txt"]
    assert [(got.folder / f"{i}.txt").read_bytes() for i in range(3)] == list(contents)

    (got.folder / "1.txt").write_bytes(b"damaged")
    with pytest.raises(
        ChecksumMismatch, match=r"1\.txt is not the published file of toy 1: expected SHA-256 "
    ):
        verify(got.folder, "toy", register=register)
    assert fetch("toy", register=register).downloaded == ("1.txt",)
    verify(got.folder, "toy", register=register)
    (got.folder / "0.txt").unlink()
    with pytest.raises(DatasetMissing, match=r"has no 0\.txt"):
        verify(got.folder, "toy", register=register)


def test_a_cache_that_cannot_be_written(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(WriteError, match=r"Could not create .*incoming") as caught:
        fetch("toy", register=toy(b"zero"))
    assert "Set $EVENHAND_DATA" in str(caught.value) and caught.value.exit_code == 1


@pytest.mark.parametrize("text", ["[[dataset", "x = 1", '[[dataset]]\nname = "a"', "dataset = 3"])
def test_broken_registers(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(DataError, match=r"r\.toml is not a register"):
        read_register(tmp_path / "r.toml")


def test_a_set_that_everybody_makes_is_taken_from_a_folder(tmp_path: Path) -> None:
    version = DataVersion("1", (DataFile("a.txt", ""),))
    register = (Dataset("toy", "a toy", "1", "https://home", "CC0", "Somebody (2020)", "Made.", (version,)),)
    told = r"(?s)a\.txt of toy cannot be downloaded: its owner does not offer it\. Made\..*https://home"
    with pytest.raises(DataError, match=told):
        fetch("toy", register=register)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.txt").write_text("made")
    fetched = fetch("toy", from_dir=tmp_path / "mine", register=register)
    assert (fetched.folder / "a.txt").read_text() == "made"
    assert fetch("toy", register=register).downloaded == ()
