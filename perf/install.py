"""Measure downloads and times to install: the light core, the earlier core, `lm_eval`
and `langfair`.

    python perf/install.py                        # Sizes only: asks the package index, downloads no package.
    python perf/install.py --install core hf      # Also installs these into fresh environments (pip, no cache).

Sizes: requirements are resolved through the metadata inside the wheels, of which a few kilobytes are fetched. The
result is the wheels that pip installs on Linux x86-64 with this Python. Versions come from constraints.txt if the
index has them; otherwise the newest is used. Sizes are those of the index. torch therefore counts as on
PyPI, with its CUDA packages. No other version is tried if two requirements conflict.
Times: `pip install --no-cache-dir` into a new environment, from the configured index and wheels, and then
the command of `make audit` if evenhand was installed. An environment with torch gets the wheel that
pip finds here, which need not be PyPI's. Only the order of magnitude carries over to another machine and line.
Results: perf/results/install.json.
"""

import argparse
import io
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections import deque
from functools import cache
from pathlib import Path

import httpx
from packaging.markers import default_environment
from packaging.metadata import parse_email
from packaging.requirements import Requirement
from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parent.parent
INDEX = "https://pypi.org/simple"
AUDIT = ["audit", "evenhand/reference", "--suite", "quick", "--report", "report.html"]
MEGABYTE = 1e6
TAGS = {tag: rank for rank, tag in enumerate(sys_tags())}


def requirement_sets() -> dict[str, list[str]]:
    """What each thing that is measured asks for, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = project["dependencies"]
    hf = [*core, *project["optional-dependencies"]["hf"]]  # all that `pip install evenhand` brought before
    return {"core": core, "hf": hf, "lm_eval": ["lm_eval"], "langfair": ["langfair"]}


def constraints() -> dict[str, str]:
    """Versions by name, of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if "==" in line and not line.startswith("#")]
    return {canonicalize_name(name): version.strip() for name, version in pins}


@cache
def files_of(name: str) -> list[dict]:
    """All files of a package, as the index lists them."""
    accept = {"Accept": "application/vnd.pypi.simple.v1+json"}
    answer = httpx.get(f"{INDEX}/{name}/", headers=accept, timeout=120, follow_redirects=True)
    answer.raise_for_status()
    return [file for file in answer.json()["files"] if not file.get("yanked")]


def chosen_file(requirement: Requirement, pin: str | None) -> tuple[Version, dict]:
    """The version that satisfies a requirement, and its best file for this Python on Linux x86-64."""
    found: dict[Version, tuple[int, dict]] = {}
    for file in files_of(canonicalize_name(requirement.name)):
        try:
            if file["filename"].endswith(".whl"):
                _, version, _, tags = parse_wheel_filename(file["filename"])
                rank = min((TAGS[tag] for tag in tags if tag in TAGS), default=None)
            elif file["filename"].endswith((".tar.gz", ".zip")):
                stem = file["filename"].removesuffix(".tar.gz").removesuffix(".zip")
                version = Version(stem.rsplit("-", 1)[1])
                rank = len(TAGS)  # only where there is no wheel
            else:
                continue
        except (InvalidWheelFilename, InvalidVersion):
            continue
        if rank is None or not requirement.specifier.contains(version):
            continue
        if pin is not None and version != Version(pin):
            continue
        needs = Requirement(f"python{file['requires-python']}") if file.get("requires-python") else None
        if needs is not None and not needs.specifier.contains(platform.python_version()):
            continue
        if version not in found or rank < found[version][0]:
            found[version] = rank, file
    if not found:
        if pin is not None:  # pinned to what is not on the index, such as a wheel of one's own
            return chosen_file(requirement, None)
        sys.exit(f"no file of {requirement} for {platform.python_version()} on {INDEX}")
    newest = max(found)
    return newest, found[newest][1]


class RemoteFile(io.RawIOBase):
    """A file on a server, of which only the parts that are read are fetched; its end at once."""

    END = 1 << 18

    def __init__(self, url: str, size: int):
        self.url, self.size, self.place = url, size, 0
        self.first = max(0, size - self.END)
        self.end = self._fetched(self.first, size)

    def _fetched(self, first: int, last: int) -> bytes:
        part = {"Range": f"bytes={first}-{last - 1}"}
        answer = httpx.get(self.url, headers=part, timeout=120, follow_redirects=True)
        answer.raise_for_status()
        return answer.content if answer.status_code == 206 else answer.content[first:last]

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self.place = offset + (0, self.place, self.size)[whence]
        return self.place

    def tell(self) -> int:
        return self.place

    def read(self, count: int = -1) -> bytes:
        first, last = self.place, self.size if count < 0 else min(self.size, self.place + count)
        self.place = last
        if first >= self.first:
            return self.end[first - self.first : last - self.first]
        return self._fetched(first, last) if last > first else b""


@cache
def requirements_in(url: str, size: int) -> tuple[str, ...]:
    """What a wheel asks for, read from the wheel itself without fetching the rest of it."""
    with zipfile.ZipFile(RemoteFile(url, size)) as wheel:
        metadata = min((name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")), key=len)
        return tuple(parse_email(wheel.read(metadata))[0].get("requires_dist", []))


def download_of(asked: list[str]) -> dict[str, tuple[str, int]]:
    """Version and bytes of every package that an installation downloads, by name."""
    pins, sizes = constraints(), {}
    done: dict[str, set[str]] = {}
    waiting = deque(Requirement(text) for text in asked)
    while waiting:
        requirement = waiting.popleft()
        name = canonicalize_name(requirement.name)
        extras = {"", *requirement.extras}
        if extras <= done.get(name, set()):
            continue
        version, file = chosen_file(requirement, pins.get(name))
        sizes[name] = str(version), int(file["size"])
        if file["filename"].endswith(".whl"):
            for text in requirements_in(file["url"], file["size"]):
                child = Requirement(text)
                environments = [{**default_environment(), "extra": extra} for extra in extras]
                if child.marker is None or any(child.marker.evaluate(one) for one in environments):
                    waiting.append(child)
        done[name] = done.get(name, set()) | extras
    return sizes


def installed(asked: list[str], audit: bool) -> dict[str, float]:
    """Install into a fresh environment, and run the first audit there; seconds and megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "venv" / "bin" / "python"
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "venv", Path(folder) / "venv"], check=True)
        made = time.perf_counter()
        pip = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*pip, "--constraint", ROOT / "constraints.txt", *asked], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = {"environment_seconds": made - began, "install_seconds": time.perf_counter() - made}
        # on a machine that others use as well this says more than the seconds that passed
        found["install_processor_seconds"] = (
            after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        )
        packages = next((Path(folder) / "venv").rglob("site-packages"))
        found["site_packages_megabytes"] = (
            sum(path.stat().st_size for path in packages.rglob("*") if path.is_file()) / MEGABYTE
        )
        if audit:
            began = time.perf_counter()
            command = [python.with_name("evenhand"), *AUDIT]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            found["first_audit_seconds"] = time.perf_counter() - began
        return found


def main() -> None:
    sets = requirement_sets()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--install", nargs="*", default=[], choices=list(sets), help="also measure their installation"
    )
    options = parser.parse_args()
    results = {}
    for name, asked in sets.items():
        sizes = download_of(asked)
        total = sum(size for _, size in sizes.values()) / MEGABYTE
        largest = sorted(sizes.items(), key=lambda one: -one[1][1])[:5]
        results[name] = {"packages": len(sizes), "download_megabytes": round(total, 1)}
        results[name]["largest"] = {
            f"{package} {version}": round(size / MEGABYTE, 1) for package, (version, size) in largest
        }
        if name in options.install:
            ours = {"core": [str(ROOT)], "hf": [f"{ROOT}[hf]"]}
            times = installed(ours.get(name, asked), name in ours)
            results[name] |= {key: round(value, 1) for key, value in times.items()}
        print(name, json.dumps(results[name]), flush=True)
    about = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "date": time.strftime("%Y-%m-%d"),
    }
    path = ROOT / "perf" / "results" / "install.json"
    path.write_text(json.dumps({"about": about, **results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
