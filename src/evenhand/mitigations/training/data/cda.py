"""CDA (counterfactual data augmentation): language modelling on texts and on the same texts about the other group.

Source: RedditBias, section 4.4, after Zhao et al. 2018.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from evenhand.mitigations.training.examples import encode_texts
from evenhand.mitigations.training.material import Encoding, Material, Pair
from evenhand.mitigations.training.methods import Lesson
from evenhand.mitigations.training.objective import LanguageModelling
from evenhand.mitigations.training.terms import capital, pairs_of_terms
from evenhand.prompts.counterfactual import Counterfactuals
from evenhand.prompts.lexicon import article
from evenhand.prompts.redditbias import by_words, make_counterpart
from evenhand.schema import Card, DataError, UsageError

SENTENCE_START = re.compile(r"\A|(?<=\A\n)|(?<=[.!?]\s)|(?<=[.!?]\s\n)")

LEAST_CHANGED = 0.1
"""Below this share, the training texts are probably of another bias type or in another case."""

CARD = Card(
    "cda",
    "Counterfactual data augmentation: fine-tunes on each text and on the same text about the other group.",
    construct="None by itself. After augmentation, the content of each text occurs equally often with both groups.",
    harm="Texts are more likely about one group than about the other.",
    groups="Two groups, by pairs of terms (t1, t2).",
    critique="If the texts are stereotypes, as RedditBias's are, the model also learns them about the other group: "
    "hostility is spread, not reduced. Replacing words creates texts that no author would write. Indirect signs of "
    "a group (names, places, dialect) are not replaced.",
    citation="Barikeri et al. 2021, RedditBias (ACL 2021); Zhao et al. 2018, Gender Bias in Coreference Resolution.",
    source="RedditBias, section 4.4",
    details="`by=words` replaces whole words and their plurals. `by=engine` replaces words and plurals in any case "
    "and, for gender, pronouns and names. `by=published` is the released computation. It converts texts to lower "
    "case, removes the prefix of the published training lines (`<bos> `), and replaces the ordered substrings of "
    "the specification. It repeats a text without a counterfactual, as in the released files, and `sides` has no "
    "effect. With the other two, a text without a counterfactual is learned once, and `sides=one` replaces T1 by "
    "T2 only. `least_changed` is the smallest share of texts that must have a counterfactual (0.1); below it, "
    "training stops.",
)


@dataclass(frozen=True)
class CounterfactualAugmentation:
    """The debiasing method CDA (counterfactual data augmentation): train on texts in which group terms are exchanged.

    Parameters
    ----------
    by : {"words", "published", "engine"}
        How terms are replaced. "words": whole words and their plurals. "published": ordered substrings of lower-case
        text, as in the released code. "engine": words in any case, with the pronouns of a gender (see
        `Counterfactuals`).
    sides : {"one", "two"}
        Replace the first terms of pairs (T1) by the second (T2), or in both directions. It has no effect with `by`
        "published", which follows the specification.
    originals : bool
        Also train on the original texts.
    least_changed : float
        Smallest share of texts that must have a counterfactual, 0 to 1.
    """

    name: ClassVar[str] = "cda"
    card: ClassVar[Card] = CARD

    by: Literal["words", "published", "engine"] = "words"
    sides: Literal["one", "two"] = "two"
    originals: bool = True
    least_changed: float = LEAST_CHANGED

    def __post_init__(self) -> None:
        if not 0 <= self.least_changed <= 1:
            raise UsageError(f"cda: least_changed must be between 0 and 1, got {self.least_changed:g}.")

    def parameters(self) -> dict[str, Any]:
        """Return all options."""
        return asdict(self)

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Return the texts and their counterfactuals as examples of language modelling.

        Raises
        ------
        DataError
            If fewer texts than `least_changed` have a counterfactual, or if by="published" has no specification.
        """
        originals = self.original_texts(material)
        counterfactuals = self.counterfactuals(material, seed)
        changed = [new for old, new in zip(originals, counterfactuals, strict=True) if new != old]
        self._require_counterfactuals(len(changed), material)
        # the released files contain a text without a counterfactual twice (Barikeri et al. 2021,
        # *_swapped_targets_train)
        added = counterfactuals if self.by == "published" else changed
        texts = [*(originals if self.originals else ()), *added]
        examples = encode_texts(
            tokenizer, texts, longest=encoding.longest, start=encoding.start, end=encoding.end
        )
        facts = {"texts": len(originals), "counterfactuals": len(changed),
                 "texts_without_counterfactual": len(originals) - len(changed),
                 "examples": len(examples)}  # fmt: skip
        return Lesson(examples, LanguageModelling(), facts)

    def _require_counterfactuals(self, changed: int, material: Material) -> None:
        """Raise DataError if too few texts have a counterfactual."""
        total = len(material.texts)
        pairs = f"Pairs: {', '.join(f'{a}/{b}' for a, b in material.pairs[:8])}."
        if not changed:
            raise DataError(
                f"None of the {total:,} texts contains a term of {material.bias} that can be replaced (by={self.by}).",
                f"{pairs} Use texts that contain these terms.",
            )
        if changed < self.least_changed * total:
            raise DataError(
                f"Only {changed:,} of {total:,} texts contain a term of {material.bias} that can be replaced "
                f"(by={self.by}), so counterfactual augmentation would change almost nothing.",
                f"{pairs} Use texts that contain these terms, try another `by`, or lower the limit: "
                "cda?least_changed=0.01.",
            )

    def original_texts(self, material: Material) -> tuple[str, ...]:
        """Return the texts from which counterfactuals are made: as given, or as the released code prepares them.

        The released code augments lower-case text without the prefix of the training lines ("<bos> " of orientation),
        although the training files of the other methods have capitals (religion2) and the prefix.
        """
        if self.by != "published" or material.specification is None:
            return material.texts
        prefix = material.specification.line_prefix.lower()
        return tuple(text.lower().removeprefix(prefix) for text in material.texts)

    def counterfactuals(self, material: Material, seed: int) -> list[str]:
        """Return each of `original_texts` rewritten for the other group; unchanged if it contains no term."""
        if self.by == "published":
            if material.specification is None:
                raise DataError(
                    f"cda?by=published needs a specification, and the bias {material.bias!r} has none.",
                    "Remove by=published, or pass --specification FILE.",
                )
            return [make_counterpart(text, material.specification) for text in self.original_texts(material)]
        if self.by == "engine":
            rewrite = counterfactual_engine(material, both=self.sides == "two")
            return [rewrite(text) for text in material.texts]
        return swapped_words(material.texts, material.pairs, two_sided=self.sides == "two", seed=seed)


def counterfactual_engine(material: Material, *, both: bool) -> Callable[[str], str]:
    """Return the counterfactual engine for a bias: that of gender, which also replaces pronouns, or one for word pairs.

    A word with several counterparts gets the first one, in either direction. Raises UsageError as the engine does.
    """
    if material.groups == ("female", "male"):
        engine = Counterfactuals("gender", source="female", target="male", both=both)
        return lambda text: engine.of(text).text
    return by_words(material.pairs, two_way=both)


def swapped_words(
    texts: Sequence[str], pairs: Sequence[Pair], *, two_sided: bool, seed: int = 0
) -> list[str]:
    """Return texts with whole words replaced by their counterparts, in the same case and with the right article.

    pairs: (t1, t2); their plurals are also replaced (see `pairs_of_terms`). two_sided: also replace t2 by t1. A term
    with several counterparts gets a random one, which is the same within a text.

    >>> swapped_words(["A Muslim is a man."], [("muslim", "atheist"), ("man", "woman")], two_sided=False)
    ['An Atheist is a woman.']
    >>> swapped_words(["Muslims are men."], [("muslim", "atheist"), ("man", "woman")], two_sided=False)
    ['Atheists are women.']
    """
    counterparts: dict[str, list[str]] = {}
    for term, found in pairs_of_terms(pairs).items():
        others = [second for first, second in found if first == term]
        if two_sided:
            others = [second if first == term else first for first, second in found]
        if others:
            counterparts[term] = others
    words = {form: term for term in counterparts for form in (capital(term), term)}
    longest_first = "|".join(re.escape(form) for form in sorted(words, key=lambda form: (-len(form), form)))
    pattern = re.compile(rf"(?<!\w)(?:(?P<article>[Aa]n?) )?(?P<term>{longest_first})(?!\w)")
    random = np.random.default_rng(seed)

    def swap_words(text: str) -> str:
        chosen: dict[str, str] = {}

        def replacement(match: re.Match[str]) -> str:
            form = match["term"]
            term = words[form]
            among = counterparts[term]
            if term not in chosen:
                chosen[term] = among[int(random.integers(len(among)))]
            begins = form[0].isupper() and SENTENCE_START.match(text, match.start("term")) is not None
            new = capital(chosen[term]) if begins or form != term else chosen[term]
            if match["article"] is None:
                return new
            fitting = article(new)
            return f"{capital(fitting) if match['article'][0] == 'A' else fitting} {new}"

        return pattern.sub(replacement, text)

    return [swap_words(text) for text in texts]
