"""CDA, counterfactual data augmentation: each text also about the other group, and plain language modelling on both.

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
from evenhand.prompts.redditbias import by_words, counterpart_of
from evenhand.schema import Card, DataError

SENTENCE_START = re.compile(r"\A|(?<=\A\n)|(?<=[.!?]\s)|(?<=[.!?]\s\n)")

CARD = Card(
    "cda",
    "Counterfactual data augmentation: fine-tuned on each text and on the same about the other group.",
    construct="None of its own: what a text says is seen as often of one group as of the other.",
    harm="Texts that come more easily about one group.",
    groups="Pairs of terms, (t1, t2).",
    critique="Where texts are stereotypes, as RedditBias's are, the model learns them of the other group: hostility "
    "is spread, not lowered. Replaced words leave texts that nobody would write, and what follows from a group without "
    "its name (names, places, dialect) is not replaced.",
    citation="Barikeri et al. 2021, RedditBias (ACL 2021); Zhao et al. 2018, Gender Bias in Coreference Resolution.",
    source="RedditBias, section 4.4",
    details="`by=words` replaces whole words and their plurals, `by=published` the ordered substrings of the "
    "specification, as the released code does, `by=engine` words and plurals in any case and, for gender, pronouns and "
    "names. One-sided (published) replaces T1 by T2, two-sided the other way as well. What holds no such word is "
    "learned as it is, and how many texts that were is said.",
)


@dataclass(frozen=True)
class CounterfactualAugmentation:
    """The method CDA.

    by: "words" (whole words and their plurals), "published" (ordered substrings of the specification) or "engine" (the
    same in any case, and pronouns of a gender; see prompts/counterfactual). sides: whether T2 is replaced by T1, too.
    originals: whether the texts themselves are learned as well.
    """

    name: ClassVar[str] = "cda"
    card: ClassVar[Card] = CARD

    by: Literal["words", "published", "engine"] = "words"
    sides: Literal["one", "two"] = "two"
    originals: bool = True

    def parameters(self) -> dict[str, Any]:
        """All options."""
        return asdict(self)

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """The texts and their counterfactuals; what has none is learned as it is."""
        swapped = self.counterfactuals(material, seed)
        changed = [new for old, new in zip(material.texts, swapped, strict=True) if new != old]
        if not changed:
            raise DataError(
                f"None of the {len(material.texts):,} texts holds a term of {material.bias} that could be replaced.",
                f"Pairs: {', '.join(f'{a}/{b}' for a, b in material.pairs[:8])}. Give texts that hold them.",
            )
        texts = [*(material.texts if self.originals else ()), *changed]
        examples = encode_texts(
            tokenizer, texts, longest=encoding.longest, start=encoding.start, end=encoding.end
        )
        facts = {"texts": len(material.texts), "counterfactuals": len(changed),
                 "texts_without_counterfactual": len(material.texts) - len(changed),
                 "examples": len(examples)}  # fmt: skip
        return Lesson(examples, LanguageModelling(), facts)

    def counterfactuals(self, material: Material, seed: int) -> list[str]:
        """Each text about the other group; unchanged where no term stands in it."""
        if self.by == "published":
            if material.specification is None:
                raise DataError(
                    f"The bias {material.bias} has no specification whose substrings could be replaced.",
                    "Leave out by=published, or give --specification FILE.",
                )
            return [counterpart_of(text, material.specification) for text in material.texts]
        if self.by == "engine":
            rewrite = engine_of(material, both=self.sides == "two")
            return [rewrite(text) for text in material.texts]
        return swapped_words(material.texts, material.pairs, two_sided=self.sides == "two", seed=seed)


def engine_of(material: Material, *, both: bool) -> Callable[[str], str]:
    """The counterfactual engine for a bias: that of gender, which knows pronouns, or one for the pairs of words.

    A word with several counterparts gets the first, in either direction. Raises UsageError as the engine does.
    """
    if material.groups == ("female", "male"):
        engine = Counterfactuals("gender", source="female", target="male", both=both)
        return lambda text: engine.of(text).text
    return by_words(material.pairs, two_way=both)


def swapped_words(
    texts: Sequence[str], pairs: Sequence[Pair], *, two_sided: bool, seed: int = 0
) -> list[str]:
    """Texts with whole words replaced by their counterparts, in their case, with the article that goes with them.

    pairs: (t1, t2); their plurals as well (see `pairs_of_terms`). two_sided: replace t2 by t1, too. A term with several
    counterparts gets one of them at random, the same throughout a text.

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

    def swapped(text: str) -> str:
        chosen: dict[str, str] = {}

        def other(match: re.Match[str]) -> str:
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

        return pattern.sub(other, text)

    return [swapped(text) for text in texts]
