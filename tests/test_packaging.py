"""What is published: wheel and source archive hold all, and the light core alone runs the first audit."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
NEEDED = {".safetensors", ".toml", ".j2", ".json", ".txt", ".csv", ".yaml"}
LIGHT = [
    ["audit", "evenhand/reference", "--suite", "quick", "--report", "report.html"],
    ["audit", "evenhand/world", "--axis", "religion", "--limit", "200", "-o", "world"],
    ["audit", "evenhand/conversing", "-b", "names", "--limit", "10", "--decoding", "sampling", "-o", "talk"],
    ["calibrate", "disparity", "--replications", "2", "-o", "calibration"],
]  # fmt: skip


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_core_asks_for_neither_torch_nor_transformers() -> None:
    names = {text.split(">")[0].split("[")[0] for text in project()["dependencies"]}
    assert not names & {"torch", "transformers", "accelerate", "peft", "sentence-transformers", "vllm"}
    extras = project()["optional-dependencies"]
    assert {text.split(">")[0] for text in extras["hf"]} == {"torch", "transformers"}
    for extra in ("training", "vllm", "lm-eval"):
        assert "evenhand[hf]" in extras[extra]


def test_the_citation_says_what_the_package_says() -> None:
    """The keys that the Citation File Format 1.2.0 requires, and the version and licence of pyproject.toml."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["cff-version"] == "1.2.0"
    assert citation["authors"]
    assert str(citation["version"]) == project()["version"]
    assert citation["license"] == project()["license"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Source archive and wheel; the wheel is built from the archive, so that both are whole."""
    for tool in ("build", "twine"):
        pytest.importorskip(tool, reason=f"{tool}, of the extra dev, is not installed")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, timeout=600)
    return folder


@pytest.mark.slow
def test_what_is_published_is_whole_and_sound(built: Path) -> None:
    files = sorted(built.iterdir())
    assert [file.suffix for file in files] == [".whl", ".gz"]
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True, timeout=120)
    with zipfile.ZipFile(files[0]) as wheel:
        inside = {name for name in wheel.namelist() if name.startswith("evenhand/")}
    here = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "evenhand").rglob("*")
        if path.is_file() and path.suffix in NEEDED | {".py", ".pyi", ".typed"}
    }
    assert here <= inside
    with zipfile.ZipFile(files[0]) as wheel:
        assert any(name.endswith("licenses/licenses/RedditBias-MIT.txt") for name in wheel.namelist())
    with tarfile.open(files[1]) as archive:
        assert any(name.endswith("LICENSE") for name in archive.getnames())


@pytest.mark.slow
def test_the_wheel_alone_runs_the_first_audit(built: Path, tmp_path: Path) -> None:
    """A real environment with the light core only. It needs a package index."""
    wheel = next(built.glob("*.whl"))
    python = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True, timeout=300)
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel]
    subprocess.run(pip, check=True, timeout=900)
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    )
    names = {line.split("==")[0].lower() for line in listed.stdout.splitlines()}
    assert not names & {"torch", "transformers"}
    for line in LIGHT:
        done = subprocess.run([python, "-m", "evenhand", *line], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}: {done.stderr}"
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")[:500]
    refused = subprocess.run([python, "-m", "evenhand", "audit", "gpt2"], capture_output=True, text=True)
    assert refused.returncode == 1
    assert 'pip install "evenhand[hf]"' in refused.stderr


def test_the_licence_of_the_word_lists_that_ship_is_declared() -> None:
    files = [path for pattern in project()["license-files"] for path in ROOT.glob(pattern)]
    texts = [path.read_text() for path in files]
    assert any(
        "MIT License" in text and "RedditBias" in text and "Copyright (c) 2021" in text for text in texts
    )


def test_the_image_installs_the_tested_versions_with_hashes() -> None:
    tested = {line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    entries = (ROOT / "deploy/requirements-image.txt").read_text().replace("\\\n", "").splitlines()
    pinned = {}
    for entry in filter(None, entries):
        name, *hashes = entry.split()
        assert hashes and all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", one) for one in hashes), name
        pinned[name.partition("==")[0]] = name

    def folded(name: str) -> str:
        return re.sub("[-_.]+", "-", name).lower()

    assert {folded(name) for name in pinned.values()} <= {folded(line) for line in tested}
    needed = {re.split("[^A-Za-z0-9_.-]", one)[0] for one in project()["dependencies"] if ";" not in one}
    assert {folded(name) for name in needed} <= {folded(name) for name in pinned}
    docker = (ROOT / "Dockerfile").read_text()
    assert "--require-hashes --requirement deploy/requirements-image.txt" in docker
