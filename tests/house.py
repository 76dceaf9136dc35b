"""How the house is built: the faces of its folders, and the contract for import-linter that nobody goes past one.

A folder's face is its `__init__.pyi`: what stands there may be imported by the whole house, everything else only from
inside the folder. `make check` runs the contract by the name that pyproject.toml gives it, `tests.house.FacesContract`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


@dataclass(frozen=True)
class Shown:
    """One name of a face, and where it comes from."""

    folder: str
    """The dotted name of the folder, as `evenhand.models`."""
    name: str
    """What others import."""
    module: str
    """The dotted name of the file or folder below which it stands."""
    attribute: str | None
    """What it is called there; None for the module itself (`from . import wording`)."""


def source_of(package: str) -> Path:
    """The folder of an importable top-level package, without importing it.

    Raises ValueError if there is no package of this name.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"There is no package {package} on the path of this process.")
    return Path(spec.submodule_search_locations[0])


def shown_by(folder: str, stub: Path) -> Iterator[Shown]:
    """What a face shows, name by name.

    folder: the dotted name of the folder. stub: its `__init__.pyi`. Raises ValueError for a statement that is no
    import from a place relative to the folder or named in full.
    """
    for statement in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if not isinstance(statement, ast.ImportFrom):
            raise ValueError(
                f"{stub}:{statement.lineno}: a face holds imports alone: {ast.unparse(statement)}"
            )
        above = folder.split(".")[: len(folder.split(".")) - max(statement.level - 1, 0)]
        base = ".".join([*(above if statement.level else []), *filter(None, [statement.module])])
        for name in statement.names:
            if statement.module is None:
                yield Shown(folder, name.asname or name.name, f"{base}.{name.name}", None)
            else:
                yield Shown(folder, name.asname or name.name, base, name.name)


class FacesContract(Contract):
    """No module imports a file of a folder that it does not stand in, unless the folder's face shows that file."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Every import from outside a folder past its face, with file and line."""
        past: list[dict[str, Any]] = []
        for imported in sorted(graph.modules):
            folder = imported.rpartition(".")[0]
            # the root has no outside; what stands directly in it belongs to nobody else
            if "." not in folder or graph.find_children(imported) or imported in whole_modules(folder):
                continue
            for importer in sorted(graph.find_modules_that_directly_import(imported)):
                if not (importer == folder or importer.startswith(f"{folder}.")):
                    past += graph.get_import_details(importer=importer, imported=imported)
        return ContractCheck(kept=not past, metadata={"past": past})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """One line for each import past a face."""
        for one in check.metadata["past"]:
            output.print_error(
                f"{one['importer']}:{one['line_number']}: {one['line_contents']}  "
                f"(import from {one['imported'].rpartition('.')[0]}, whose __init__.pyi names what others may use)"
            )


def whole_modules(folder: str) -> set[str]:
    """Modules that a folder's face shows as a whole (`from . import wording`), by dotted name."""
    root, *parts = folder.split(".")
    stub = source_of(root).joinpath(*parts, "__init__.pyi")
    return (
        {one.module for one in shown_by(folder, stub) if one.attribute is None} if stub.is_file() else set()
    )
