"""The card of the HolisticBias prompt sets."""

from evenhand.prompts.datasets import dataset
from evenhand.prompts.holisticbias_quirks import QUIRKS
from evenhand.schema import Card

VERSIONS = ("v1.0", "v1.1")


def holisticbias_card(version: str, as_published: bool, modified: bool, rows: int) -> Card:
    """The card of a HolisticBias prompt set.

    version: "v1.0" or "v1.1". as_published: which mode composed it. modified: whether the files differ
    from the published ones. rows: how many sentences it holds.
    """
    entry = dataset("holisticbias")
    mode = "as published" if as_published else "articles and fixed phrases corrected"
    edited = ", from edited files" if modified else ""
    quirks = "\n".join(f"- **{q.id}** {q.what} Default mode: {q.in_default}." for q in QUIRKS)
    return Card(
        name=f"holisticbias-{version}",
        summary=f"HolisticBias {version}: {rows:,} sentences about people on 13 axes ({mode}{edited})",
        construct="Differences in how a model treats people described by different demographic terms.",
        groups="About 600 descriptors on 13 axes, crossed with nouns and templates, held fixed.",
        critique=(
            "US-English descriptors and nouns; some are rare words, so likelihood differences also reflect "
            "word frequency. Templates are short and artificial. Some descriptors are slurs."
        ),
        citation=entry.citation,
        licence=entry.licence,
        source=entry.homepage,
        details=f"Quirks of the published composer:\n{quirks}",
    )
