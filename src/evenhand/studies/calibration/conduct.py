"""Run a calibration: choose designs and simulate the missing data sets. It can be resumed at any time."""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from evenhand.runs import Progress, Silence, show_progress
from evenhand.schema import UsageError, unknown_name
from evenhand.studies.calibration.designs import Design, collect_designs
from evenhand.studies.calibration.options import CalibrationOptions
from evenhand.studies.calibration.pool import list_missing_blocks, read_arm, simulate_blocks
from evenhand.studies.calibration.record import RECORD, code_hash
from evenhand.studies.calibration.schedule import Arm, first_arms, power_arms


@dataclass(frozen=True)
class SimulatedResults:
    """All simulated results.

    ``designs`` are those that were run, and ``arms`` have the rows of each. ``without`` lists what could not be
    simulated, with the reason. ``failed`` lists designs in which a measure failed, with its error.
    """

    designs: tuple[Design, ...]
    arms: tuple[tuple[Arm, pl.DataFrame], ...]
    without: dict[str, str]
    failed: dict[str, str] = field(default_factory=dict)


def chosen_designs(measures: Sequence[str]) -> tuple[list[Design], dict[str, str]]:
    """Return the designs of some measures, benchmarks or packages (or all), and what cannot be simulated and why.

    Raises UsageError for an unknown name, and for one without a design, with the reason.
    """
    from evenhand.benchmarks import RECIPES
    from evenhand.measures import REGISTERED

    there = collect_designs()
    if not measures:
        return list(there.designs.values()), there.without
    chosen: dict[str, Design] = {}
    for name in measures:
        mine = {key: one for key, one in there.designs.items() if _is_for_measure(one, name)}
        if not mine and name in there.without:
            raise UsageError(f"{name} cannot be simulated: {there.without[name]}", HINT)
        if not mine and name not in REGISTERED and name not in RECIPES:
            known = {judged.measure for one in there.designs.values() for judged in one.judged}
            raise unknown_name("measure", name, sorted(known))
        if not mine:
            raise UsageError(f"{name} has no verdict to check, or no simulation design.", HINT)
        chosen |= mine
    return list(chosen.values()), {}


HINT = (
    'A package brings designs under the entry-point group "evenhand.calibrations" (docs/how-to/add_a_calibration.md); '
    "measures that only describe have none."
)


def conduct(options: CalibrationOptions, folder: Path, progress: Progress | None = None) -> SimulatedResults:
    """Simulate the missing data sets of a study, whose folder may contain a part of it.

    Raises UsageError for unknown measures, ResumeRefused for a folder with other options or other code, and
    Interrupted.
    """
    designs, without = chosen_designs(options.measures)
    wanted = {"options": options.deciding(), "code": code_hash()}
    RECORD.begin(folder, wanted, lambda stored: (stored, wanted["options"]))  # type: ignore[arg-type,return-value]
    _same_code(folder)
    told = progress or Silence()
    cores = os.cpu_count() or 1
    jobs = min(options.jobs or cores, cores)
    if options.jobs is not None and jobs < options.jobs:
        many = f"{cores} cores: {jobs} processes" if cores > 1 else "1 core: 1 process"
        told.note(f"This machine has {many} instead of {options.jobs}.")
    known = first_arms(designs, options)
    failed = _draw(folder, known, options, jobs, told)
    later = [
        arm
        for design in designs
        if design.name not in failed
        for judged in design.judged
        if judged.pattern != "none"
        and (stated := _median_stated_mde(folder, known, design, judged.measure)) is not None
        for arm in power_arms(design, judged, stated, options)
    ]
    failed |= _draw(folder, later, options, jobs, told)
    rows = [(arm, table) for arm in [*known, *later] if (table := read_arm(folder, arm)) is not None]
    named = {arm.design for arm, _ in rows} | failed.keys()
    return SimulatedResults(
        tuple(design for design in designs if design.name in named), tuple(rows), without, failed
    )


def _draw(
    folder: Path, arms: list[Arm], options: CalibrationOptions, jobs: int, progress: Progress
) -> dict[str, str]:
    total = sum(arm.replications for arm in arms)
    missing = list_missing_blocks(arms, folder)
    left = sum(len(block.replications) for block in missing)
    failed: dict[str, str] = {}
    if not missing:
        return failed
    drawing = simulate_blocks(folder, missing, options.seed, jobs)
    with show_progress(progress, total, total - left, "data sets"), closing(drawing):
        for done in drawing:
            progress.advance(done.replications, 0, int(done.failure is not None))
            if done.failure is not None and done.design not in failed:
                progress.note(f"{done.design}: {done.failure}")
                failed[done.design] = done.failure
    return failed


def _median_stated_mde(folder: Path, arms: list[Arm], design: Design, measure: str) -> float | None:
    """Return the median MDE in data sets without planted effects; None if most of them have no MDE."""
    null = next((arm for arm in arms if arm.design == design.name and arm.kind == "null"), None)
    rows = None if null is None else read_arm(folder, null)
    if rows is None:
        return None
    mine = rows.filter((pl.col("measure") == measure) & (pl.col("target") != "not measurable"))
    stated = mine["stated"].drop_nulls().drop_nans()
    if len(stated) * 2 < rows.filter(pl.col("measure") == measure).height:
        return None
    return float(stated.median())  # type: ignore[arg-type]


def _is_for_measure(design: Design, name: str) -> bool:
    return any(judged.measure == name for judged in design.judged) or design.name.split(": ")[0] == name


def _same_code(folder: Path) -> None:
    from evenhand.schema import ResumeRefused, read_json

    stored = read_json(folder / RECORD.file, "Start another with -o.").get("code")
    if stored != code_hash():
        raise ResumeRefused(
            f"Cannot resume the calibration {folder}: the code of measures or designs has changed since it started "
            f"(hash {stored}, now {code_hash()}).",
            "Results of two versions must not be mixed. Start a new study with -o.",
        )
