"""`evenhand data build redditbias`: what it is built from, and what is said of it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.common import say

if TYPE_CHECKING:
    from evenhand.prompts.redditbias import BuiltPairs

LEFT = {
    "target_left": "counterparts that still hold letters of a word for the minoritised group",
    "target_before": "phrases that held letters of a word for the other group before",
    "unchanged": "counterparts that are what they were",
    "attribute_unchanged": "phrases without an attribute to swap",
}


def build_pairs(
    output: Path,
    bias: str | None,
    dumps: Sequence[Path],
    annotations: Path | None,
    perplexities: Path | None,
    *,
    as_published: bool,
    report_progress: Callable[[str, int, int], None],
) -> "BuiltPairs":
    """Build what the flags allow, in the folder `output`; the arguments are those of `build_redditbias`.

    bias: a published type, or a TOML file. Raises UsageError where none is named, or the folder is a file.
    """
    from evenhand.prompts.redditbias import (
        BIAS_TYPES,
        Steps,
        build_redditbias,
        load_specification,
        specification,
    )
    from evenhand.schema import UsageError, is_file

    if bias is None:
        raise UsageError(
            "redditbias is built for one bias type: --bias NAME.",
            f"Known: {', '.join(BIAS_TYPES)}; or the TOML file of your own.",
        )
    if is_file(output):
        raise UsageError(f"--output {output} is a file; redditbias is built in a folder.", "--output FOLDER")
    found = load_specification(bias) if bias.endswith(".toml") else specification(bias)
    how = Steps(as_published=as_published)
    return build_redditbias(found, output, dumps, annotations, perplexities, how, report_progress)


def told(built: "BuiltPairs") -> None:
    """Print what a build came to, and how it goes on."""
    for warning in built.warnings:
        say(f"Beware: {warning}", err=True)
    for name, count in built.counts.items():
        say(f"{name.replace('_', ' ')}: {count:,}")
    if built.residues is not None:
        for kind, published, by_words, of in built.residues.rows():
            say(f"{LEFT[kind]}: {published:,} of {of:,} as published, {by_words:,} by words")
    if built.to_annotate is not None:
        say(
            f"Now label {built.to_annotate}: 1 (biased) or 0 in bias_sent, for the comment, and in bias_phrase, "
            "for the phrase alone; leave blank what cannot be decided. Save it under another name and run the same "
            "command with --annotations FILE."
        )
    if built.to_score is not None:
        say(
            "No perplexities were given: outliers are still in. To leave them out add a column perplexity to "
            f"{built.to_score}, save it under another name and run the same command with --perplexities FILE."
        )
    if built.to_annotate is None:
        say(f"{built.bias}: pairs and training texts are in {built.folder}")
