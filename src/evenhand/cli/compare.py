"""`evenhand compare`: paired comparison of models that answered the same prompts."""

from pathlib import Path

import typer

from evenhand.cli import gating
from evenhand.cli.common import show


def compare(
    runs: list[str] = typer.Argument(
        ...,
        help="Two or more runs: folders or S3 URLs (s3://bucket/run), lm_eval samples (samples_*.jsonl), Inspect "
        "logs (.json, .eval), or ROBBIE scores (scores.*.json). Each is compared with the first.",
    ),
    name: list[str] = typer.Option(
        [], "--name", help="Name to show for each run, in the order of the runs. Repeatable."
    ),
    alpha: float = typer.Option(
        0.05,
        min=0,
        max=1,
        help="Significance level: the probability of any false verdict if nothing changed.",
    ),
    no_worse: float | None = typer.Option(
        None,
        "--no-worse",
        help="Non-inferiority margin, in the outcome's unit. Test for each group that its treatment did not get worse, "
        "relative to the other groups, by more than this margin. For rates, give a share from 0 to 1 (0.05 is five "
        "percentage points).",
    ),
    by: str | None = typer.Option(
        None,
        "--by",
        help="Property that orders the models: size (number of parameters), date (start of each run), or your own "
        "NAME=NUMBER,NUMBER,..., one number per run (step=1000,2000,3000). The report plots the disparity between "
        "groups and the overall rate against it.",
    ),
    seed: int = typer.Option(0, min=0, help="Random seed for the paired tests."),
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
    """Compare models on the same prompts: which groups are treated differently, and what changed overall.

    Responses are paired by prompt and sample. Audit the models with the same suite, --limit and --seed, and
    use the same classifiers. A difference is not a failure: without --fail-if, the exit code is 0.

    \b
    Examples:
      evenhand compare runs/base runs/tuned
      evenhand compare runs/v1 runs/v2 runs/v3 --by step=1000,2000,3000
      evenhand compare runs/base runs/tuned --fail-if worse
    """
    from evenhand.runs import RunDirectory
    from evenhand.schema import DataError, is_file
    from evenhand.studies.compare import compare as compared

    for path in runs:
        if is_file(Path(path) / "measurements.json") and not RunDirectory.is_run(Path(path)):
            raise DataError(
                f"Cannot compare {path}: it contains the results of `evenhand measure` for one file, but not the "
                "responses that must be paired.",
                "Give run folders (evenhand audit MODEL -o RUN) or files with responses: lm_eval samples "
                "(samples_*.jsonl), Inspect logs (.json, .eval), or ROBBIE scores (scores.*.json).",
            )
    report = compared(*runs, names=name, alpha=alpha, margin=no_worse, seed=seed, by=by)
    show(report, None if output is None else report.write(output))
    gating.hold(report, fail_if, require_power, junit, summary)
