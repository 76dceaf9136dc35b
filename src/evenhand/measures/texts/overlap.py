"""BLEU and NIST of replies against several references, as in NIST's mteval-v14c.

Both are functions of sums over replies: matched n-grams, n-grams and lengths. A corpus is therefore scored, resampled
and compared by adding up.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.stats import Floats

LONGEST = 4
"""Largest n of the n-grams."""
HALF_AT = 1.5
"""Length ratio at which NIST's penalty is one half."""
MARKS = re.compile(r"([{-~\[-` -&(-+:-@/])")
STOP_AFTER, STOP_BEFORE = re.compile(r"([^0-9])([.,])"), re.compile(r"([.,])([^0-9])")
DASH = re.compile(r"([0-9])(-)")

Gram = tuple[str, ...]


@dataclass(frozen=True)
class Overlap:
    """Counts of n replies whose sums give BLEU and NIST.

    Attributes
    ----------
    matched : numpy.ndarray, shape (n, 4)
        Number of n-grams of 1 to 4 words that occur in a reference. Each n-gram counts at most as often as in the
        reference that contains it most often.
    information : numpy.ndarray, shape (n, 4)
        Information of these n-grams in bits.
    grams : numpy.ndarray, shape (n, 4)
        Number of n-grams of the reply.
    closest : numpy.ndarray, shape (n,)
        Number of words of the reference that is closest in length (the shorter one if two are).
    average : numpy.ndarray, shape (n,)
        Mean number of words of the references.
    """

    matched: Floats
    information: Floats
    grams: Floats
    closest: Floats
    average: Floats

    @property
    def parts(self) -> Floats:
        """Return all counts as columns, (n, 14): matched, information, grams, closest, average."""
        sides = (self.closest[:, None], self.average[:, None])
        return np.concatenate([self.matched, self.information, self.grams, *sides], axis=1)


def mteval_tokens(text: str) -> list[str]:
    """Return lower-case words and punctuation marks as in mteval-v14c without its international rules.

    Apostrophes stay within words; underscores separate tokens. Source: mteval-v14c (NIST), its language-dependent part.

    >>> mteval_tokens("It's 3.5, you said: __url__!")
    ["it's", '3.5', ',', 'you', 'said', ':', '_', '_', 'url', '_', '_', '!']
    """
    plain = MARKS.sub(r" \1 ", f" {text.lower()} ")
    plain = STOP_BEFORE.sub(r" \1 \2", STOP_AFTER.sub(r"\1 \2 ", plain))
    return DASH.sub(r"\1 \2 ", plain).split()


def overlap(replies: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> Overlap:
    """Count what replies share with their references.

    The information of an n-gram is log2(count of its first n - 1 words / count of the n-gram) in all references. For
    single words, it is log2(number of all words / count of the word).

    Parameters
    ----------
    replies : sequence of sequence of str, length n
        Tokens of each reply.
    references : sequence of sequence of sequence of str, length n
        For each reply, the tokens of one or more references.

    References
    ----------
    - Papineni et al. 2002, section 2; Doddington 2002, section 4.

    Examples
    --------
    >>> counts = overlap([["he", "is", "here"]], [[["he", "is"], ["she", "is", "here"]]])
    >>> counts.matched.tolist(), counts.closest.tolist(), counts.average.tolist()
    ([[3.0, 2.0, 0.0, 0.0]], [3.0], [2.5])
    """
    seen: Counter[Gram] = Counter()
    for group in references:
        for reference in group:
            seen.update(_grams(reference))
    words = sum(count for gram, count in seen.items() if len(gram) == 1)
    table = np.zeros((3, len(replies), LONGEST))
    closest, average = np.zeros(len(replies)), np.zeros(len(replies))
    for place, (reply, group) in enumerate(zip(replies, references, strict=True)):
        most: Counter[Gram] = Counter()
        for reference in group:
            most |= Counter(_grams(reference))
        for gram, count in Counter(_grams(reply)).items():
            order, hit = len(gram) - 1, min(count, most[gram])
            table[2, place, order] += count
            if hit:
                before = seen[gram[:-1]] if order else words
                table[0, place, order] += hit
                table[1, place, order] += hit * np.log2(before / seen[gram])
        lengths = [len(reference) for reference in group]
        closest[place] = min(lengths, key=lambda length: (abs(length - len(reply)), length))
        average[place] = np.mean(lengths)
    return Overlap(table[0], table[1], table[2], closest, average)


def bleu(matched: Floats, grams: Floats, closest: Floats) -> Floats:
    """Return cumulative BLEU-1 to BLEU-4, shape (..., 4), from sums over replies.

    Precisions without a match count as 1/2, 1/4, ... of one match, in order of length, as in mteval-v14c by default.
    BLEU is 0 if no word matches, or if there are no n-grams of a length.

    Parameters
    ----------
    matched, grams : numpy.ndarray, shape (..., 4)
        Sums of the attributes of `Overlap` with these names.
    closest : numpy.ndarray, shape (...,)
        Sum of `Overlap.closest`.

    References
    ----------
    - Papineni et al. 2002, section 2.3; smoothing as in mteval-v13a and later.

    Examples
    --------
    >>> bleu(np.array([7.0, 5, 3, 1]), np.array([15.0, 12, 9, 6]), np.array(12.0)).round(4).tolist()
    [0.4667, 0.441, 0.4017, 0.3224]
    """
    nothing = (matched <= 0) & (grams > 0)
    counted = np.where(nothing, 0.5 ** np.cumsum(nothing, axis=-1), matched)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where(grams > 0, counted / grams, 0.0))
        short = np.minimum(0.0, 1.0 - closest / grams[..., 0])
        mean = np.cumsum(logs, axis=-1) / np.arange(1, LONGEST + 1)
        usable = np.isfinite(mean) & (matched[..., :1] > 0)
        return np.asarray(np.where(usable, np.exp(mean + short[..., None]), 0.0))


def nist(information: Floats, grams: Floats, average: Floats) -> Floats:
    """Return cumulative NIST-1 to NIST-4 in bits, shape (..., 4), from sums over replies.

    Parameters
    ----------
    information, grams : numpy.ndarray, shape (..., 4)
        Sums of the attributes of `Overlap` with these names.
    average : numpy.ndarray, shape (...,)
        Sum of `Overlap.average`.

    References
    ----------
    - Doddington 2002, section 4.

    Examples
    --------
    >>> nist(np.array([27.5, 3, 1, 0]), np.array([15.0, 12, 9, 6]), np.array(12.5)).round(4).tolist()
    [1.8333, 2.0833, 2.1944, 2.1944]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(grams > 0, information / grams, 0.0)
        ratio = np.minimum(grams[..., 0] / average, 1.0)
        # exp(beta log(ratio)²), with beta such that the penalty is 0.5 if replies are shorter by the factor HALF_AT
        penalty = np.exp(np.log(0.5) / np.log(HALF_AT) ** 2 * np.log(ratio) ** 2)
        return np.asarray(np.cumsum(each, axis=-1) * np.nan_to_num(penalty)[..., None])


def _grams(tokens: Sequence[str]) -> list[Gram]:
    return [
        tuple(tokens[start : start + size])
        for size in range(1, LONGEST + 1)
        for start in range(len(tokens) - size + 1)
    ]
