"""The fake models, and runs of them, as fixtures."""

import polars as pl
import pytest

from evenhand.models.decoding import Decoding
from evenhand.runs import GenerateRequest, PlanPart, RunDirectory, ScoreRequest, execute, make_plan
from tests.helpers import fakes as module


@pytest.fixture(scope="session")
def fakes():
    """The module tests/helpers/fakes.py."""
    return module


@pytest.fixture
def start(tmp_path, fakes):
    """A function that plans some texts and opens a fresh run for them: (plan, model, directory)."""

    def begin(texts, model=None, request=None, name="run"):
        model = model or fakes.HashModel()
        prompts = pl.DataFrame({"prompt_id": [f"p{i}" for i in range(len(texts))], "text": texts})
        plan = make_plan([PlanPart("texts", prompts, request or ScoreRequest())], model.fingerprint)
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
