"""Validate lineages, because a folder may come from another person."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError

from evenhand.mitigations.training import BIAS, LINEAGE
from evenhand.schema import DataError

Value = StrictFloat | StrictInt | None
"""A number; None if the original value was not finite."""


class _Part(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)


class _Base(_Part):
    name: StrictStr


class _Method(_Base):
    summary: StrictStr
    critique: StrictStr
    citation: StrictStr


class _Watched(_Part):
    before: dict[StrictStr, Value]
    after: dict[StrictStr, Value]


class _Trial(_Part):
    trial: StrictStr
    setting: dict[StrictStr, StrictStr]
    watched: dict[StrictStr, Value]
    times_perplexity: Value
    failed: StrictStr | None


class _Row(_Trial):
    on_front: StrictBool


class _Search(_Part):
    kind: StrictStr
    over: dict[StrictStr, Any]
    choose: StrictStr
    guard: StrictFloat | StrictInt
    seed: StrictInt
    failed: StrictInt
    chosen: StrictStr | None
    base: dict[StrictStr, Value | StrictBool]
    control: _Trial | None
    tried: list[_Row]


class _Lineage(_Part):
    evenhand: StrictStr
    base: _Base
    method: _Method
    bias: StrictStr
    data: dict[StrictStr, Any]
    options: dict[StrictStr, Any]
    seed: StrictInt
    steps: StrictInt | None = None
    best_step: StrictInt | None = None
    stopped_early: StrictBool | None = None
    told: StrictStr | None = None
    watched: _Watched
    search: _Search | None = None


def check_lineage(folder: Path, lineage: Mapping[str, Any]) -> None:
    """Raise DataError with the field if a lineage is not that of a finished training."""
    try:
        found = _Lineage.model_validate(dict(lineage))
    except ValidationError as error:
        first = error.errors()[0]
        raise _broken(folder, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    watched = found.watched
    if found.told is None and None in (found.steps, found.best_step):
        raise _broken(folder, "steps: the number of steps is missing")
    if BIAS not in watched.after or not watched.after.keys() <= watched.before.keys():
        raise _broken(folder, "watched: the evaluations before and after are not of the same texts")


def _broken(folder: Path, why: str) -> DataError:
    return DataError(
        f"{folder / LINEAGE} is not a valid record of how a model was trained (lineage): {why}.",
        "Restore it from a copy, or train again in another folder.",
    )
