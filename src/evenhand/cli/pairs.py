"""`evenhand data build redditbias`: its sources and its notes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.common import say

if TYPE_CHECKING:
    from evenhand.prompts.redditbias import BuiltPairs

LEFT = {
    "target_left": "counterparts that still contain parts of a word for the minoritised group",
    "target_before": "phrases that already contained parts of a word for the other group",
    "unchanged": "counterparts that are identical to their phrase",
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

    bias: a published type, or a TOML file. Raises UsageError without one, or if the folder is a file.
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
            "redditbias requires `--bias`: it is built for one bias type at a time.",
            f"Expected one of {', '.join(BIAS_TYPES)}, or your own TOML file.",
        )
    if is_file(output):
        raise UsageError(
            f"--output {output} is a file, but redditbias is built in a folder.",
            "Give a folder: --output FOLDER",
        )
    found = load_specification(bias) if bias.endswith(".toml") else specification(bias)
    how = Steps(as_published=as_published)
    return build_redditbias(found, output, dumps, annotations, perplexities, how, report_progress)


def print_result(built: "BuiltPairs") -> None:
    """Print the result of a build, and the next step."""
    for warning in built.warnings:
        say(f"Beware: {warning}", err=True)
    for name, count in built.counts.items():
        say(f"{name.replace('_', ' ')}: {count:,}")
    if built.residues is not None:
        for kind, published, by_words, of in built.residues.rows():
            say(f"{LEFT[kind]}: {published:,} of {of:,} as published, {by_words:,} by words")
    if built.to_annotate is not None:
        say(
            f"Now label {built.to_annotate}: write 1 (biased) or 0 into bias_sent for the comment, and into "
            "bias_phrase for the phrase alone. Leave a cell empty if you cannot decide. Save the table under "
            "another name, and run the same command with --annotations FILE."
        )
    if built.to_score is not None:
        say(
            "Outliers were not removed, because no perplexities were given. To remove them, add a column "
            f"perplexity to {built.to_score}, save it under another name, and run the same command with "
            "--perplexities FILE."
        )
    if built.to_annotate is None:
        say(f"{built.bias}: wrote pairs and training texts to {built.folder}")
