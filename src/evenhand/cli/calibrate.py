"""`evenhand calibrate`: check verdicts on simulated data."""

from pathlib import Path

import typer

from evenhand.cli.common import progress, show, writable


def calibrate(
    measures: list[str] = typer.Argument(
        None,
        metavar="[MEASURE]...",
        help="Measures to check, or families of simulation designs such as rates. Default: all.",
    ),
    quick: bool = typer.Option(
        False, "--quick", help="Run a short version of one or two minutes. This is the default."
    ),
    full: bool = typer.Option(False, "--full", help="Run every design. Takes about five hours of one core."),
    output: str | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="PATH",
        help="Folder for the study. If it contains a part of the same study, that study is resumed.",
    ),
    replications: int | None = typer.Option(
        None,
        min=2,
        help="Number of simulated data sets per design and kind of effect, at most 100,000. Default: a "
        "number for each design; in a full study, each has at least 400 data sets without bias.",
    ),
    seed: int = typer.Option(0, min=0, help="Random seed."),
    jobs: int | None = typer.Option(
        None,
        "--jobs",
        "-j",
        min=1,
        help="Number of processes, at most the number of cores. Default: the number of cores.",
    ),
    summary: str | None = typer.Option(
        None,
        metavar="PATH",
        help="Also write a summary by measure and design to this JSON file, in the format of the results that "
        "ship with evenhand.",
    ),
) -> None:
    """Check measures on simulated data: false-positive rate, coverage and power.

    The simulated data have a known bias and go through the same code as real data. The report shows false
    verdicts, coverage of confidence intervals, and whether the minimum detectable effect is found as often as
    stated. It also shows whether results rise with the harm, and whether they stay the same after changes to
    the data that must not affect them. Press Ctrl-C to stop; the same command with -o FOLDER resumes.

    \b
    Examples:
      evenhand calibrate
      evenhand calibrate rates --full -o runs/calibration
    """
    from evenhand.schema import UsageError
    from evenhand.studies.calibration import CalibrationOptions, calibrate_with
    from evenhand.study import validate_options

    if quick and full:
        raise UsageError("`--quick` and `--full` cannot be combined.", "Use either --quick or --full.")
    given = {
        "measures": tuple(measures or ()),
        "size": "full" if full else "quick",
        "replications": replications,
        "seed": seed,
        "jobs": jobs,
    }
    options = validate_options(CalibrationOptions, given)
    if output == "":
        raise UsageError(
            "`--output` must not be empty.", "Give a folder, or remove --output to create one in runs/."
        )
    told = None if summary is None else writable("--summary", summary)
    study = calibrate_with(options, output=None if output is None else Path(output), progress=progress())
    paths = {"study": study.path, "report": study.paths["report"]}
    if told is not None:
        paths["summary"] = study.write_summary(told)
    show(study, paths)
    if study.drawn.failed:
        raise typer.Exit(3)  # said above
