"""Either published version can be put to a model; which one is read off the files."""

import shutil
from pathlib import Path

import pytest

from evenhand.benchmarks import load_benchmark
from evenhand.prompts.holisticbias import published_holisticbias
from evenhand.schema import ChecksumMismatch

# counted in the released files: rows of the published Likelihood Bias.
SENTENCES = {"v1.0": 460_980, "v1.1": 549_120}


@pytest.mark.parity
@pytest.mark.parametrize(("version", "rows"), SENTENCES.items())
def test_each_version_is_known_by_its_files(shared: Path, version: str, rows: int) -> None:
    source = published_holisticbias(shared / "data/holisticbias" / version, as_published=True)
    assert (source.version, source.modified, len(source.likelihood_subset())) == (version, False, rows)


@pytest.mark.parity
def test_the_newer_version_is_taken_where_a_folder_holds_both(shared: Path, tmp_path: Path) -> None:
    assert published_holisticbias(shared / "data/holisticbias").version == "v1.1"
    shutil.copytree(shared / "data/holisticbias/v1.0", tmp_path / "v1.0")
    assert published_holisticbias(tmp_path).version == "v1.0"


@pytest.mark.parity
def test_edited_files_are_still_refused(shared: Path, tmp_path: Path) -> None:
    shutil.copytree(shared / "data/holisticbias/v1.0", tmp_path / "edited")
    (tmp_path / "edited").chmod(0o755)
    nouns = tmp_path / "edited" / "nouns.json"
    nouns.chmod(0o644)
    nouns.write_text(nouns.read_text().replace("grandma", "granny"))
    with pytest.raises(ChecksumMismatch):
        published_holisticbias(tmp_path / "edited")


@pytest.mark.parity
@pytest.mark.slow
@pytest.mark.parametrize("name", ["likelihood", "pll", "seat", "styles", "offensiveness"])
def test_every_holisticbias_benchmark_takes_the_older_version(shared: Path, name: str) -> None:
    old, new = (
        load_benchmark(f"holisticbias-{name}").build({"holisticbias": shared / "data/holisticbias" / version})
        for version in ("v1.0", "v1.1")
    )
    assert old.frame["descriptor"].n_unique() < new.frame["descriptor"].n_unique()
    assert {"grandma"} <= set(old.frame["noun"]) and "sista" not in set(old.frame["noun"])
