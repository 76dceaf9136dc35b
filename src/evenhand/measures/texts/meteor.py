"""METEOR by NLTK with WordNet, if both are installed."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from evenhand.schema import Unsupported
from evenhand.stats import Floats


def meteor(replies: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> Floats:
    """Return METEOR of each reply against the best of its references, (n,), from 0 to 1.

    `replies` and `references` are as in `overlap`. NLTK's version uses exact words, stems and WordNet synonyms with the
    parameters of 2005. It has neither the paraphrases nor the tuned parameters of meteor-1.5, which DSTC7 used, so
    numbers differ from published ones. Raises Unsupported, with what to install, if NLTK or WordNet is missing. Source:
    Banerjee & Lavie 2005.
    """
    module = _nltk()
    scores = [
        max((module.single_meteor_score(list(reference), list(reply)) for reference in group), default=0.0)
        for reply, group in zip(replies, references, strict=True)
    ]
    return np.array(scores, dtype=np.float64)


def meteor_obstacle() -> str | None:
    """Return the reason why METEOR is not available, or None.

    >>> isinstance(meteor_obstacle(), str | None)
    True
    """
    try:
        _nltk().single_meteor_score(["words"], ["word"])
    except Unsupported as error:
        return error.message
    return None


def _nltk() -> Any:
    try:
        module = import_module("nltk.translate.meteor_score")
    except ImportError as error:
        raise Unsupported(
            "METEOR requires nltk, which is not installed.",
            "Install it (pip install nltk) and its dictionary (python -m nltk.downloader wordnet).",
        ) from error
    try:
        import_module("nltk.corpus").wordnet.ensure_loaded()
    except LookupError as error:
        raise Unsupported(
            "METEOR requires the dictionary WordNet, which nltk cannot find.",
            "Download WordNet: python -m nltk.downloader wordnet",
        ) from error
    return module
