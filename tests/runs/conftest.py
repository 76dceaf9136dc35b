"""The fake models, as fixtures (tests are not a package)."""

import importlib.util
from pathlib import Path

import polars as pl
import pytest

from evenhand.models.decoding import Decoding
from evenhand.runs import GenerateRequest, Part, RunDirectory, ScoreRequest, execute, make_plan

FAKES = Path(__file__).with_name("fakes.py")
spec = importlib.util.spec_from_file_location("evenhand_runs_fakes", FAKES)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


@pytest.fixture(scope="session")
def fakes():
    """The module tests/runs/fakes.py."""
    return module


@pytest.fixture
def start(tmp_path, fakes):
    """A function that plans some texts and opens a fresh run for them: (plan, model, directory)."""

    def begin(texts, model=None, request=None, name="run"):
        model = model or fakes.HashModel()
        prompts = pl.DataFrame({"prompt_id": [f"p{i}" for i in range(len(texts))], "text": texts})
        plan = make_plan([Part("texts", prompts, request or ScoreRequest())], model.fingerprint)
        return plan, model, RunDirectory.create(tmp_path / name, model=model, given={}, resolved={})

    return begin


@pytest.fixture
def written(start, fakes):
    """A function that opens a run with the continuations of some prompts: (plan, model, directory)."""

    def write(texts, model=None, samples=2, name="run"):
        request = GenerateRequest(Decoding(max_new_tokens=9, temperature=1.0, samples=samples))
        plan, model, directory = start(texts, model or fakes.HashWriter(), request, name)
        execute(plan, model, directory)
        return plan, model, directory

    return write
