"""`evenhand calibrate`: do the verdicts hold on data of known truth?"""

from pathlib import Path

import typer

from evenhand.cli.common import progress, show, writable


def calibrate(
    measures: list[str] = typer.Argument(
        None, metavar="[MEASURE]...", help="Measures, or families of designs such as rates. Default: all."
    ),
    quick: bool = typer.Option(
        False, "--quick", help="A first look, in a minute or two. This is the default."
    ),
    full: bool = typer.Option(False, "--full", help="Every design: about half an hour on two cores."),
    output: str | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="PATH",
        help="The study's folder; one that holds a part of the same study is gone on with.",
    ),
    replications: int | None = typer.Option(
        None, min=2, help="Data sets of each arm, in place of what each design says; 100,000 at most."
    ),
    seed: int = typer.Option(0, min=0, help="Of everything random."),
    jobs: int | None = typer.Option(
        None, "--jobs", "-j", min=1, help="Processes, as many as cores at most, which is the default."
    ),
    summary: str | None = typer.Option(
        None,
        metavar="PATH",
        help="Also write here, as JSON, what measures and their documentation show of it.",
    ),
) -> None:
    """Draw data of known truth, send it down each measure's own road to its verdict, and say how far that holds.

    False verdicts, coverage of intervals, whether the stated smallest effect is found, what rises with the harm, and
    what must change nothing. Press Ctrl-C at any time: the same command with -o FOLDER goes on where it stopped.
    """
    from evenhand.schema import UsageError
    from evenhand.studies import validated
    from evenhand.studies.calibration import CalibrationOptions, calibrate_with

    if quick and full:
        raise UsageError("Both --quick and --full are given.", "Give one of them.")
    given = {
        "measures": tuple(measures or ()),
        "size": "full" if full else "quick",
        "replications": replications,
        "seed": seed,
        "jobs": jobs,
    }
    options = validated(CalibrationOptions, given)
    if output == "":
        raise UsageError("--output is empty.", "Name a folder, or leave it out for a new one in runs/.")
    told = None if summary is None else writable("--summary", summary)
    study = calibrate_with(options, output=None if output is None else Path(output), progress=progress())
    paths = {"study": study.path, "report": study.paths["report"]}
    if told is not None:
        paths["summary"] = study.write_summary(told)
    show(study, paths)
    if study.drawn.failed:
        raise typer.Exit(3)  # said above
