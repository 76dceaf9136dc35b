"""`evenhand compare`: models that answered the same prompts, beside each other and paired."""

from pathlib import Path

import typer

from evenhand.cli.common import show


def compare(
    runs: list[Path] = typer.Argument(
        ...,
        help="Two or more: folders of runs, lm_eval's samples_*.jsonl, Inspect logs (.json, .eval), ROBBIE's "
        "scores.*.json. The others are compared with the first.",
    ),
    name: list[str] = typer.Option([], "--name", help="What to call each, in order; repeatable."),
    alpha: float = typer.Option(0.05, help="Level of the verdicts, after adjustment."),
    seed: int = typer.Option(0, min=0, help="Of the paired tests."),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder for compare.html, compare.json and changes.parquet."
    ),
) -> None:
    """Compare models on the same prompts: rates and scores side by side, and what changed, for whom.

    Answers are paired by prompt and sample, so audit the models with the same suite, --limit and --seed, and judge
    them by the same classifiers. A difference is no failure: the command ends with 0 whatever it finds.
    """
    from evenhand.studies.compare import compare as compared

    report = compared(*runs, names=name, alpha=alpha, seed=seed)
    show(report, None if output is None else report.write(output))
