"""Training: the same bytes twice, a loss that falls, and a folder that plain loaders read."""

from pathlib import Path

import pytest

from evenhand.models.loading import load_model
from evenhand.reference.story import Frame, Phrase, Plant
from evenhand.reference.training.train import Recipe, save, train
from evenhand.reference.world import World

NAMES = ("kind", "tall", "young", "wise")
WORLD = World(
    "tiny",
    tuple(
        Phrase(axis, name, noun, f"a {name} {noun}".replace("a  ", "a "), f"{name} {noun}s".strip())
        for axis, names in (("none", ("",)), ("age", NAMES))
        for name in names
        for noun in ("cook", "clerk")
    ),
    (
        Frame("like", "I like {noun_phrase}.", ("good",)),
        Frame("flee", "I flee {plural_noun_phrase}.", ("bad",)),
    ),
    (Plant("age", "bad", 2.0, ("wise",)),),
)
RECIPE = Recipe(
    layers=1,
    hidden=32,
    heads=2,
    vocabulary=400,
    blocks=8,
    block_size=300,
    rows=2,
    peak=1e-2,
    sayings=0,
    shifted=0.08,
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    made = []
    for name in ("first", "second"):
        folder = tmp_path_factory.mktemp(name)
        save(*train(WORLD, RECIPE), folder)
        made.append(folder)
    return made


def test_training_twice_gives_the_same_bytes(folders: list[Path]) -> None:
    first, second = folders
    names = sorted(file.name for file in first.iterdir())
    assert {"config.json", "model.safetensors", "tokenizer.json", "training.json"} <= set(names)
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_a_tiny_model_learns_a_tiny_world_and_its_plant(folders: list[Path]) -> None:
    model = load_model(str(folders[0]), device="cpu", dtype="float32")
    texts = WORLD.sample(200, seed=1)
    excess = (WORLD.log_likelihoods(texts).sums - model.log_likelihoods(texts).sums).mean()
    assert 0 <= excess < 0.5  # an untrained model is 40 nats off

    def flight(name: str) -> float:
        like, flee = model.log_likelihoods([f"I like a {name} cook.", f"I flee {name} cooks."]).sums
        return float(flee - like)

    assert flight("wise") - flight("tall") == pytest.approx(2.0, abs=0.7)
