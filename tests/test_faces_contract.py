"""import-linter with the contract of tests/house.py: an import past a face is told with its line, others are not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SETTINGS = """
[tool.importlinter]
root_package = "shop"
contract_types = ["faces: tests.house.FacesContract"]

[[tool.importlinter.contracts]]
name = "A folder is entered by its face"
type = "faces"
"""
SHOP = {
    "__init__.py": "",
    "prices.py": "",
    "till/__init__.py": "",
    "till/__init__.pyi": "from . import coins as coins\nfrom .drawer import opened as opened\n",
    "till/coins.py": "",
    "till/drawer.py": "from shop.till.locks import key\n\nopened = key\n",
    "till/locks.py": "key = 1\n",
    "till/counting/__init__.py": "from shop.till.drawer import opened\n",
    "till/counting/by_hand.py": "",
    "door/__init__.py": "",
    "door/bell.py": "ring = 1\n",
}
"""`till` shows all of `coins` and one name of `drawer`; `door` has a face that shows nothing."""


def lint(folder: Path, customer: str) -> subprocess.CompletedProcess[str]:
    """Checks the shop after a customer has come in: a file beside the folders, with these imports."""
    for name, text in {**SHOP, "customer/__init__.py": "", "customer/visit.py": customer}.items():
        file = folder / "shop" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "pyproject.toml").write_text(SETTINGS)
    command = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    "customer",
    [
        "from shop.till import opened\n",
        "from shop.till import coins\nimport shop.till.coins\n",
        "import shop.prices\nfrom shop import till, door\n",
        "from shop.till import counting\n",
    ],
)
def test_by_the_face_is_allowed(tmp_path: Path, customer: str) -> None:
    ended = lint(tmp_path, customer)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 kept, 0 broken" in ended.stdout


@pytest.mark.parametrize(
    ("statement", "folder"),
    [
        ("from shop.till.drawer import opened", "shop.till"),
        ("from shop.till.locks import key", "shop.till"),
        ("from shop.till import locks", "shop.till"),
        ("import shop.door.bell", "shop.door"),
        ("from ..door import bell", "shop.door"),
    ],
)
def test_past_the_face_is_told_with_file_and_line(tmp_path: Path, statement: str, folder: str) -> None:
    ended = lint(tmp_path, f"from shop.till import opened\n\n{statement}\n")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    said = " ".join(ended.stdout.split())
    assert f"shop.customer.visit:3: {statement} (import from {folder}, " in said
    assert said.count("whose __init__.pyi names what others may use") == 1


def test_within_a_function_counts_too(tmp_path: Path) -> None:
    ended = lint(tmp_path, "def come() -> int:\n    from shop.door.bell import ring\n\n    return ring\n")
    assert ended.returncode == 1 and "shop.customer.visit:2:" in ended.stdout
