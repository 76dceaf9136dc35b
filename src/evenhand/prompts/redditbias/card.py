"""Cards of the RedditBias prompt sets: summary, groups, critique and source."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evenhand.prompts.datasets import dataset
from evenhand.prompts.redditbias.published_files import BUILT_BY, BuiltFolder
from evenhand.schema import Card

WHAT = {
    "test": "the published test pairs",
    "valid": "the published validation pairs",
    "attributes": "the published pairs of a stereotype and its opposite",
}


def pairs_card(
    split: str, there: Sequence[str], absent: Sequence[str], unchecked: Mapping[str, str] | None = None
) -> Card:
    """Return the card of the pairs of a split.

    split: a key of WHAT. there, absent: bias types whose files were found and not found. unchecked: for each bias type
    without known checksums, the day on which its files were first fetched ("" for a user's own folder).
    """
    known = "".join(f" {bias}: {known_since(since)}." for bias, since in (unchecked or {}).items())
    missing = (
        f" Not here: {', '.join(absent)} (evenhand data fetch redditbias --version all)." if absent else ""
    )
    return dataset("redditbias").card(
        name="redditbias",
        summary=f"RedditBias, {WHAT[split]}: {', '.join(there)}.",
        construct="Stereotypes about a group, as people wrote them, and the same about another group.",
        groups="Jews, Muslims / Christians; Black / white people; women / men; LGBTQ / straight people.",
        critique=(
            "The counterpart is made by replacing parts of words in a fixed order: her stays her, and in up to 8 % of "
            "pairs a word of the stereotyped group is left in both. A phrase is a window of 15 words, cut in the "
            "middle of a sentence. One pair each of religion1 and religion2 consists of one text twice. "
            "Pairs that were outliers under DialoGPT are left out. Some texts are in several parts: 11 of the 476 of "
            "religion1 are in its training part, too."
        ),
        details=f"Phrases are hateful, and in small letters without commas.{missing}{known}",
    )


def built_card(split: str, built: BuiltFolder) -> Card:
    """Return the card of pairs that evenhand built from the user's comments.

    split: a key of WHAT. built: the description of the build from `read_manifest`.
    """
    card = pairs_card(split, [built.bias], [])
    return replace(
        card,
        name="redditbias-built",
        summary=f"Pairs of {' and '.join(built.groups)} in the manner of RedditBias ({split}), built here from "
        f"{built.made_of}: not the published ones.",
        groups=f"{' / '.join(built.groups)}.",
        critique="Counterparts are made by rules; read some of them. What was searched, and who labelled it, decides "
        "what is measured.",
        licence="Comments are their authors'; the method is RedditBias's (MIT).",
        source=f"{BUILT_BY}, in {built.folder}",
    )


def known_since(since: str | None) -> str:
    """Return a phrase that states whether files were compared with the checksums of the published files.

    since: result of `first_fetched`: None if the checksums are known, else the day of the first fetch, or "".
    """
    if since is None:
        return "compared with the known checksums"
    return f"no checksum is known; {f'the files are as first fetched on {since}' if since else 'taken as they are'}"


def human_references_card(lines: int) -> Card:
    """Return the card of the human conversations with which RedditBias measures perplexity.

    lines: number of lines.
    """
    return dataset("redditbias").card(
        name="redditbias-humanref6k",
        summary=f"{lines:,} lines of human conversation, on which RedditBias measures perplexity.",
        construct="What people write to each other online.",
        groups="None.",
        critique="Collected from Reddit by the authors of DialoGPT, which was trained on such text. "
        "Other models have a disadvantage.",
    )
