"""Arguments whose types are imported for type checkers alone, and protocols that are not `runtime_checkable`."""

from pathlib import Path

import pytest

import evenhand as eh
from evenhand.annotation import read_export, read_study, write_export
from evenhand.mitigations import as_chain
from evenhand.schema import UsageError


class Strange:
    """An object of a kind that no function takes."""


def test_a_wrong_object_is_refused_by_the_name_of_its_argument(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="write_export: invalid store="):
        write_export(Strange(), tmp_path / "a.csv")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="audit: invalid progress="):
        eh.audit("puppet/uniform", progress=Strange())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="calibrate: invalid progress="):
        eh.calibrate(progress=Strange())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="push: invalid place="):
        eh.push(tmp_path, Strange())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="read_study: invalid path="):
        read_study(5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="read_export: invalid path="):
        read_export(None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="as_chain: invalid chain="):
        as_chain(Strange())  # type: ignore[arg-type]
