"""`evenhand compare`: models that answered the same prompts, beside each other and paired."""

from pathlib import Path

import typer

from evenhand.cli import gating
from evenhand.cli.common import show


def compare(
    runs: list[str] = typer.Argument(
        ...,
        help="Two or more: folders of runs or their addresses on a store (s3://bucket/run), lm_eval's "
        "samples_*.jsonl, Inspect logs (.json, .eval), ROBBIE's scores.*.json. The others are compared with the first.",
    ),
    name: list[str] = typer.Option([], "--name", help="What to call each, in order; repeatable."),
    alpha: float = typer.Option(0.05, help="Chance of any false verdict where nothing changed."),
    no_worse: float | None = typer.Option(
        None,
        "--no-worse",
        help="Margin: ask of each group whether it fares no worse beside the others by more than this, in the "
        "outcome's unit: of rates a share from 0 to 1 (0.05 is five percentage points).",
    ),
    by: str | None = typer.Option(
        None,
        "--by",
        help="Put the models in a row, and show disparity and level along it: size (parameters), date (when each run "
        "began), or NAME=NUMBER,NUMBER,... such as step=1000,2000,3000, in the order of the runs.",
    ),
    seed: int = typer.Option(0, min=0, help="Of the paired tests."),
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        help="Folder for compare.html, compare.json, changes.parquet and moved.parquet.",
    ),
    fail_if: gating.FailIf = None,
    require_power: gating.RequirePower = None,
    junit: gating.JUnit = None,
    summary: gating.Summary = None,
) -> None:
    """Compare models on the same prompts: who is treated otherwise than before, then what changed over all.

    Answers are paired by prompt and sample, so audit the models with the same suite, --limit and --seed, and judge
    them by the same classifiers. A difference is no failure: without --fail-if the command ends with 0.
    """
    from evenhand.runs import RunDirectory
    from evenhand.schema import DataError, is_file
    from evenhand.studies.compare import compare as compared

    for path in runs:
        if is_file(Path(path) / "measurements.json") and not RunDirectory.is_run(Path(path)):
            raise DataError(
                f"{path} holds the numbers of one file, as `evenhand measure` writes them, and not the answers: there "
                "is nothing to be paired.",
                "Compare folders of runs (evenhand audit MODEL -o RUN) or files with the answers themselves: lm_eval's "
                "samples_*.jsonl, Inspect logs (.json, .eval), ROBBIE's scores.*.json.",
            )
    report = compared(*runs, names=name, alpha=alpha, margin=no_worse, seed=seed, by=by)
    show(report, None if output is None else report.write(output))
    gating.hold(report, fail_if, require_power, junit, summary)
