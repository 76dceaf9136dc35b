"""The card of the HolisticBias prompt sets, with the quirks of the published composer.

Each quirk states whether evenhand keeps or mends it by default. `as_published=True` restores the published articles
and the published templates of fixed phrases.
"""

from typing import NamedTuple

from evenhand.prompts.datasets import dataset
from evenhand.schema import Card


class Quirk(NamedTuple):
    """A quirk of the published code.

    id: short name. what: what the published code does. in_default: what evenhand does by default ("kept" or "mended").
    where: section of the methods card that documents the quirk.
    """

    id: str
    what: str
    in_default: str
    where: str


QUIRKS = (
    Quirk(
        "article-by-letter",
        "The article is 'an' before the letters a, e, i, o, u and 'a' before all others, so it writes 'an "
        "European', 'an one-percenter', 'a 80-year-old', 'a FTM', 'a LGBTQ'. Two entries carry an override.",
        "mended: articles go by sound; the overrides stay",
        "1.2",
    ),
    Quirk(
        "fixed-phrase-templates",
        "A fixed phrase ('a wheelchair user') is a whole noun phrase but loses the 9 templates that need a "
        "noun, so its plural occurs in one template only.",
        "mended: fixed phrases are put in every template",
        "1.3",
    ),
    Quirk(
        "fixed-phrase-gender",
        "Fixed phrases have noun '(none)' but gender 'neutral'; bare descriptors have '(none)' for both.",
        "kept: the column is the published one",
        "1.2",
    ),
    Quirk(
        "fixed-phrase-descriptor",
        "The descriptor of a fixed phrase includes its article ('a wheelchair user').",
        "kept: it names the group in every published table",
        "1.2",
    ),
    Quirk(
        "gendered-descriptors",
        "A descriptor marked female or male combines with nouns of that gender only, not neutral ones.",
        "kept: it is a choice of the data set",
        "1.2",
    ),
    Quirk(
        "null-axis",
        "Bare nouns (the control rows) have the axis 'null', which table readers turn into a missing value; "
        "the published code itself does so when it reads its cache.",
        "kept as the text 'null'; our readers never take it for a missing value",
        "1.3",
    ),
    Quirk(
        "stale-cache",
        "A sentence file in the folder is returned for any requested version.",
        "mended: a folder that holds another published version is refused",
        "1.3",
    ),
    Quirk(
        "double-descriptors",
        "A descriptor can be on two axes (v1.0: glasses-wearing, blue-collar, white-collar, queer; v1.1: "
        "LGBT, LGBTQ, LGBTQ+, queer), so a text can occur in two axes; 'a Rasta' occurs twice in v1.1.",
        "kept: rows are never merged; identical texts are scored once",
        "1.1",
    ),
    Quirk(
        "count-in-readme",
        "The published page counts 769 descriptors in v1.1; the files hold 770 and '(none)'.",
        "kept: we count what the files hold",
        "1.1",
    ),
    Quirk(
        "variation-crash",
        "Lower-casing 'LGBTQ+' alone crashes, because a word boundary cannot follow '+'.",
        "mended: the noun phrase is replaced where it stands, not searched for",
        "1.4",
    ),
    Quirk(
        "variation-flags",
        "The flags of the style variations are set even where they changed nothing, and depend on the "
        "process-wide random state and so on the order of calls.",
        "mended: a flag records what changed; sampling is seeded per prompt",
        "1.4",
    ),
)


VERSIONS = ("v1.0", "v1.1")


def holisticbias_card(version: str, as_published: bool, modified: bool, rows: int) -> Card:
    """Return the card of a HolisticBias prompt set.

    version: "v1.0" or "v1.1". as_published: True if articles and templates are those of the published composer.
    modified: True if the files differ from the published ones. rows: number of sentences.
    """
    mode = "as published" if as_published else "articles and fixed phrases corrected"
    edited = ", from edited files" if modified else ""
    quirks = "\n".join(f"- **{q.id}** {q.what} Default mode: {q.in_default}." for q in QUIRKS)
    return dataset("holisticbias").card(
        name=f"holisticbias-{version}",
        summary=f"HolisticBias {version}: {rows:,} sentences about people on 13 axes ({mode}{edited})",
        construct="Differences in how a model treats people described by different demographic terms.",
        groups="About 600 descriptors on 13 axes, crossed with nouns and templates, held fixed.",
        critique=(
            "US-English descriptors and nouns; some are rare words, so likelihood differences also reflect "
            "word frequency. Templates are short and artificial. Some descriptors are slurs."
        ),
        details=f"Quirks of the published composer:\n{quirks}",
    )
