"""The contract that every folder is entered by its face, for import-linter (`make check`).

A folder's face is its `__init__.pyi`: what stands there may be imported by the whole house, everything else only from
inside the folder.
"""

import ast
from pathlib import Path
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output

SOURCE = Path(__file__).parents[1] / "src"


def faced_modules(folder: str) -> set[str]:
    """Modules that a folder's face shows as a whole (`from . import wording`), by dotted name."""
    stub = SOURCE.joinpath(*folder.split("."), "__init__.pyi")
    if not stub.is_file():
        return set()
    statements = ast.parse(stub.read_text(encoding="utf-8")).body
    whole = [s for s in statements if isinstance(s, ast.ImportFrom) and s.module is None]
    return {f"{folder}.{name.name}" for statement in whole for name in statement.names}


class FacesContract(Contract):
    """No module imports a file of a folder that it does not stand in, unless the folder's face shows that file."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Every import from outside a folder past its face, with file and line."""
        past: list[dict[str, Any]] = []
        for imported in sorted(graph.modules):
            folder = imported.rpartition(".")[0]
            inside = f"{folder}."
            if folder in ("", "evenhand") or graph.find_children(imported):
                continue
            if imported in faced_modules(folder):
                continue
            for importer in sorted(graph.find_modules_that_directly_import(imported)):
                if not (importer == folder or importer.startswith(inside)):
                    past += graph.get_import_details(importer=importer, imported=imported)
        return ContractCheck(kept=not past, metadata={"past": past})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """One line for each import past a face."""
        for one in check.metadata["past"]:
            output.print_error(
                f"{one['importer']}:{one['line_number']}: {one['line_contents']}  "
                f"(import from {one['imported'].rpartition('.')[0]}, whose __init__.pyi names what others may use)"
            )
