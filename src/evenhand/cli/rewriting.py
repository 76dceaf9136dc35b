"""`evenhand data counterfactuals`: rewrite texts for another group."""

from pathlib import Path

import typer

from evenhand.cli.common import say, writable


def counterfactuals(
    file: Path = typer.Argument(
        ..., help="Texts: CSV, JSON Lines or Parquet with a column `text`, or .txt with one text per line."
    ),
    axis: str = typer.Option(
        ...,
        help="Axis: gender, name_origin, or an axis of the lexicon such as religion, nationality, race_ethnicity, "
        "age or ability.",
    ),
    target: str = typer.Option(..., "--to", help="Target group: the group that the new texts are about."),
    source: list[str] = typer.Option(
        [],
        "--from",
        help="Source group: the group whose words are replaced. Repeatable. Default: all other "
        "groups of the axis.",
    ),
    output: Path = typer.Option(
        ...,
        "--output",
        "-o",
        help="File to write. FILE.csv gets one row per change, for review. FILE.jsonl or FILE.parquet get one row "
        "per text.",
    ),
    both: bool = typer.Option(
        False,
        "--both",
        help="Swap the two groups: also replace words of the target group by words of the source group.",
    ),
    names: bool = typer.Option(
        True, help="For the axis gender: also replace first names (default), or keep them."
    ),
    quotes: bool = typer.Option(False, "--quotes", help="Also change text inside quotation marks."),
    column: str = typer.Option("text", help="Column of FILE that contains the texts."),
) -> None:
    """Rewrite your texts for another group, and list every change.

    Each new word has the capitals and the number (singular or plural) of the word that it replaces, and "a" or
    "an" before it is adapted. Code, URLs, {{...}}, titles of works and quotations are not changed. Rules make the
    changes, not a model: check the new texts before use (docs/explanation/counterfactuals.md lists the limits).

    \b
    Example:  evenhand data counterfactuals texts.csv --axis gender --from female --to male -o changes.csv
    """
    from evenhand.prompts.counterfactual import (
        check_ending,
        counterfactuals as made_of,
        write_counterfactuals,
    )

    check_ending(writable("--output", output))
    frame = made_of(
        file, axis, target=target, source=source or None, both=both, names=names, quotes=quotes, column=column
    )
    write_counterfactuals(output, frame, column)
    changed = frame["changes"].list.len()
    say(
        f"{int((changed > 0).sum()):,} of {frame.height:,} texts changed, {int(changed.sum() or 0):,} changes, "
        f"written to {output}"
    )
