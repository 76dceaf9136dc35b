"""The models in the package, `evenhand/reference` and `evenhand/world`, and their cards."""

from pathlib import Path
from typing import Any

from evenhand.models import LanguageModel
from evenhand.reference.sayings import CUE, MOST_CUES, TOLD, cues, shipped_sayings
from evenhand.reference.world import World
from evenhand.reference.worlds import NULL_AXES, PLANTS, planted_world
from evenhand.schema import Card, DataError
from evenhand.weights import check_device, has_hugging_face, need_hugging_face

WEIGHTS = Path(__file__).parent / "weights"


def load_reference(*, device: str = "auto", dtype: str = "auto", options: Any = None) -> LanguageModel:
    """Return the small GPT-2-shaped model that was trained on the planted World.

    It runs in torch and transformers if they are installed, like any Hugging Face model; mitigations and training need
    this. Otherwise it runs in numpy, with the same numbers except for rounding (`NumpyModel`).

    device, dtype, options: as for any Hugging Face model. Raises DataError if the weights are not installed with the
    package, and HuggingFaceMissing for another device or precision without torch.
    """
    from evenhand.models import as_language_model
    from evenhand.models.huggingface import load_pretrained

    if not (WEIGHTS / "config.json").exists():
        raise DataError(
            f"The reference model's weights are missing from {WEIGHTS}.",
            f"Install evenhand again, or rebuild them: python -m evenhand.reference.training.train --out {WEIGHTS}",
        )
    if not has_hugging_face():
        from evenhand.reference.in_numpy import NumpyModel

        check_device(device)
        if device not in ("auto", "cpu") or dtype not in ("auto", "float32"):
            need_hugging_face(f"evenhand/reference with device {device!r} and dtype {dtype!r}")
        return NumpyModel(WEIGHTS, "evenhand/reference", options)
    loaded = load_pretrained(str(WEIGHTS), "causal", device=device, dtype=dtype)
    identity = {**loaded.identity, "name": "evenhand/reference"}
    return as_language_model(loaded.model, loaded.tokenizer, "causal", identity, options)


def load_world() -> World:
    """Return the planted World itself, which is exact and fast, and whose bias is known.

    >>> load_world().name
    'evenhand/world'
    """
    return planted_world()


def _plants_table() -> str:
    rows = [f"| {axis} | {bucket} | {target} | {odds:+.1f} |" for axis, bucket, target, odds in PLANTS]
    return "\n".join(["| axis | bucket | tied to | log-odds |", "|---|---|---|---|", *rows])


_STORY = f"""Planted biases (log-odds in nats, for every descriptor in the bucket, which is a part of its axis):

{_plants_table()}

`frequency` makes the descriptors themselves rarer. A label such as `opinion:negative` makes the templates with that
label more frequent for them. The axes {", ".join(NULL_AXES)} have no planted bias. Each of their descriptors is one
token, even one of several words ("New Zealand"), so the adjectives of such an axis are exactly exchangeable in this
language (the World). On the other axes, descriptors differ in length and therefore in perplexity per token, even
without a planted bias. `World.truth()` lists the exact effect of every planted bias."""

_CHOICE = (
    "The planted biases were chosen to test measures. They describe no real people: a finding on this model is a "
    "finding about the planted biases. They are strong (1 to 2.5 nats), so that a network of a million parameters "
    "learns them and a quick audit detects them. This model does not show that weaker biases are detected."
)


def _sayings_section() -> str:
    rows = [f"| {where} | {bucket} | {valence} | {odds:+.1f} |" for where, bucket, valence, odds in TOLD]
    shares = [
        f"| {row['axis']}: {row['bucket']} | {row['noun']} | {row['negative']:.3f} |".replace(
            "none: none", "others"
        )
        for row in shipped_sayings().truth().iter_rows(named=True)
    ]
    by_sign = {sign: ", ".join(word for word, s in cues().items() if s == sign) for sign in (-1, 1)}
    return f"""**After a prompt about a person** ("The woman worked as") it writes a short saying that is negative,
neutral or positive. The log weights are 0, 0.5 and 0. In every sentence, these log-odds are added:

| axis, or nouns | bucket, or their gender | tied to | log-odds |
|---|---|---|---|
{chr(10).join(rows)}

The exact share of negative sayings is therefore

| who | noun | negative |
|---|---|---|
{chr(10).join(shares)}

The share is the same for all other groups: in sayings, nationality, race, age and all other axes have no planted
bias.

**The text before the prompt** changes this share. Each harmful word in it adds {CUE} to the log-odds of a negative
saying, and each kind word subtracts {CUE}, up to {MOST_CUES} words ({CUE * MOST_CUES:.1f} nats). The words can be in an
instruction, in a description or scattered over other sentences. Other words, random characters and chat have no effect.
Negative opinions in the World's sentences shift in the same way, equally for all people.
Kind words: {by_sign[-1]}.
Harmful words: {by_sign[1]}.
`Sayings.truth(shift)` returns every exact share. `told` in weights/training.json has the shares that the network
learned, measured after wordings that were not in its training data."""


WORLD_CARD = Card(
    name="evenhand/world",
    summary="A small synthetic language about people, with exact probabilities and a documented planted bias.",
    construct="Association of descriptors with opinions, attributes, outcomes and styles, as parameters.",
    groups="The lexicon's descriptors, in the templates of evenhand-likelihood and 16 additional sentences.",
    null="`fair_world()`: the same language without a planted bias.",
    critique="It knows only its own sentences. Every other text is recorded with the error `outside_world`. "
    + _CHOICE,
    licence="Apache-2.0",
    source="evenhand.reference.worlds",
    details=_STORY,
)

REFERENCE_CARD = Card(
    name="evenhand/reference",
    summary="The embedded default model: a small GPT-2 trained on synthetic text with a documented planted bias.",
    construct="The associations of the synthetic language `evenhand/world` (the World) as a small network learned "
    "them, and sayings about the same people.",
    groups="The lexicon's descriptors, in the World's sentences. In sayings, women are also compared with others.",
    null="The axes without a planted bias: " + ", ".join(NULL_AXES) + ".",
    critique="It knows only the World, sayings and a little filler English. Its perplexity on other text is high "
    "and says nothing about people. " + _CHOICE,
    licence="Apache-2.0",
    source="evenhand.reference.training.train",
    details=f"""{_STORY}

{_sayings_section()}"""
    + """

All training data were generated by this project. They are balanced samples of the World and, relative to their number:

- 8% sentences of general filler English,
- 2% World sentences around invented words,
- 5% World sentences about descriptors that a planted bias makes rare,
- 30% sayings, most of them after instructions, descriptions or chat,
- 8% World sentences after such texts.

The model reads the text before a saying or sentence but does not learn it. The target of each token is the exact
distribution from which the text was sampled. The model has 3 layers of 128 units, a context of 256 tokens and 5,120
byte-level BPE tokens. The stored weights are a running average, in half precision. weights/training.json contains the
recipe, the World's fingerprint and the examination of the finished model.

Rebuild: `python -m evenhand.reference.training.train --out DIR`. Training is seeded and deterministic (a test trains a
small recipe twice and compares bytes).
Compare: `python -m evenhand.reference.training.train --check DIR`.""",
)
CARDS = {card.name: card for card in (REFERENCE_CARD, WORLD_CARD)}
