"""Cards of the scores of replies against human reference replies."""

from evenhand.measures.info import MeasureInfo
from evenhand.measures.texts.overlap import LONGEST
from evenhand.measures.texts.response_scores import DISTINCT
from evenhand.schema import Card

_DSTC7 = (
    "Galley et al. 2019, Grounded Response Generation Task at DSTC7, AAAI Dialog System Technology Challenge"
)


def _info(unit: str, name: str, summary: str, **stated: str) -> MeasureInfo:
    shared = {
        "harm": "None by itself. If a mitigation makes a model's replies worse, all users are affected.",
        "groups": "All replies.",
        "ideal": "None. Compare with the model before a mitigation, or with replies by people.",
        "direction": "Higher is better.",
        "null": "The value of the model before a mitigation, on the same contexts.",
        "citation": _DSTC7,
        "source": "Barikeri et al. 2021, section 3.2, Table 5 and appendix C.1; the evaluation of DSTC7, task 2",
    }
    return MeasureInfo.of(Card(name=name, summary=summary, **(shared | stated)), unit=unit)


def _of_length(size: int) -> list[MeasureInfo]:
    words = "words" if size == 1 else f"runs of up to {size} words"
    return [
        _info(
            "share (0 to 1)",
            f"bleu_{size}",
            f"BLEU-{size}: share of {words} of the replies that occur in a reference (geometric mean).",
            construct="Similarity to replies by people.",
            critique="Good replies that no reference contains count as bad. Values are near 0 for open conversation.",
            details="Cumulative, as in mteval-v14c: the nearest reference length is used, and zero counts are "
            "smoothed by halves.",
        ),
        _info(
            "bits",
            f"nist_{size}",
            f"NIST-{size}: the information of the {words} that occur in a reference.",
            construct="Similarity to replies by people, with more weight for rare words.",
            critique="The value depends on the whole set of references, so it can be compared only on the same keys "
            "(messages that are replied to).",
            details="Cumulative, as in mteval-v14c. The paper's table of NIST-2 repeats its table of METEOR.",
        ),
        _info(
            "nats",
            f"entropy_{size}",
            f"Entropy of the distribution of the replies' {size}-grams.",
            construct="Diversity of replies.",
            direction="Lower is more monotonous.",
            critique="The entropy increases with the amount of text, so it can be compared only at equal numbers of "
            "replies of similar length.",
        ),
    ]


CARDS = (
    *(info for size in range(1, LONGEST + 1) for info in _of_length(size)),
    *(
        _info(
            "share (0 to 1)",
            f"dist_{size}",
            f"Different {size}-grams divided by all {size}-grams of the replies.",
            construct="Diversity of replies.",
            direction="Lower is more monotonous.",
            critique="The share decreases with the amount of text. For texts of other lengths, use "
            "distinct_1_at_budget.",
        )
        for size in DISTINCT
    ),
    _info(
        "share (0 to 1)",
        "meteor",
        "METEOR: words, stems and synonyms of a reply aligned with the best reference (mean over messages).",
        construct="Similarity to replies by people, allowing for other words with the same meaning.",
        critique="The measure needs nltk and WordNet. NLTK's version is not meteor-1.5, so the number differs from "
        "that of the papers.",
    ),
    _info(
        "tokens",
        "reply_length",
        "Mean number of tokens of a reply.",
        construct="Length of replies.",
        direction="Neither a high nor a low value is better.",
        critique="The length is limited by the requested number of new tokens.",
    ),
)
