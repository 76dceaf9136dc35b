"""A mitigation answers for what it changes: nothing else passes through under its name unless it says so."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.mitigations import Mitigated, Prefix, load_mitigation
from evenhand.models import load_model
from evenhand.models.contract import Generations, LanguageModel, Likelihoods, Texts
from evenhand.models.decoding import Decoding
from evenhand.models.puppets import load_puppet, writes
from evenhand.models.writing.steering import steerable
from evenhand.schema import Card, ExtensionError, Unsupported, UsageError
from evenhand.studies.audit.options import AuditConfig
from evenhand.studies.audit.result import audit
from evenhand.studies.audit.selection import select
from evenhand.studies.before_after.conduct import study_before_after

SHORT = Decoding(max_new_tokens=3)


class WritesOnly(Mitigated):
    """Overrides what is written, and says nothing of likelihoods."""

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        return self.model.generate([f"Nicely: {prompt}" for prompt in prompts], decoding)  # type: ignore[attr-defined]


class WritesDeclared(WritesOnly):
    unchanged = frozenset({"log_likelihoods"})


class ScoresOnly(Mitigated):
    """Overrides likelihoods by way of the contract's own method, as a subclass may."""

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        batch = Texts.of(texts)
        return super().log_likelihoods(replace(batch, texts=[text.lower() for text in batch.texts]))


@dataclass(frozen=True)
class Fake:
    kind: type[Mitigated]
    name: str = "fake"
    card: Card = field(default_factory=lambda: Card("fake", "Does one thing."))
    specification: None = None

    def specified(self, texts: Sequence[str]) -> "Fake":
        raise Unsupported("It has no wording.")

    def parameters(self) -> dict[str, Any]:
        return {"kind": self.kind.__name__}

    def __call__(self, model: LanguageModel) -> LanguageModel:
        return self.kind(model, self)


def talking() -> LanguageModel:
    return writes(lambda prompt, sample: " and so on")


def test_likelihoods_without_the_mitigation_are_not_given_under_its_name() -> None:
    model = Fake(WritesOnly)(load_puppet("puppet/random"))
    with pytest.raises(
        Unsupported, match="The results would be those of the model without the mitigation"
    ) as caught:
        model.log_likelihoods(["A text."])
    assert 'unchanged = frozenset({"log_likelihoods"})' in str(caught.value.hint)
    assert "WritesOnly" in str(caught.value.hint)
    behind = Prefix("Be kind.")(model)
    with pytest.raises(
        Unsupported, match=r"The mitigation 'fake' does not support likelihoods\. The results would"
    ):
        behind.log_likelihoods(["A text."])


def test_what_is_declared_unchanged_passes_through() -> None:
    base = load_puppet("puppet/random")
    model = Fake(WritesDeclared)(base)
    assert model.log_likelihoods(["A text."]).sums == pytest.approx(base.log_likelihoods(["A text."]).sums)


def test_continuations_without_the_mitigation_are_not_given_either() -> None:
    model = Fake(ScoresOnly)(talking())
    with pytest.raises(Unsupported, match="The results would be those of the model without the mitigation"):
        model.generate(["A prompt"], SHORT)  # type: ignore[attr-defined]


def test_an_override_may_call_what_it_overrides() -> None:
    base = load_puppet("puppet/random")
    got = Fake(ScoresOnly)(base).log_likelihoods(["A TEXT."]).sums
    assert got == pytest.approx(base.log_likelihoods(["a text."]).sums)


def test_a_mitigated_model_is_not_steered_as_if_it_were_the_model() -> None:
    with pytest.raises(Unsupported):
        steerable(Fake(WritesDeclared)(talking()))


def test_a_named_benchmark_of_likelihoods_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    asked: list[str] = []

    class Watched(WritesOnly):
        def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
            asked.extend(prompts)
            return super().generate(prompts, decoding)

    base = load_puppet("puppet/random")
    for chosen in (
        {"benchmarks": ["evenhand-likelihood"]},
        {"benchmarks": ["evenhand-likelihood", "regard"]},
    ):
        with pytest.raises(
            Unsupported, match="The results would be those of the model without the mitigation"
        ):
            audit(base, mitigate=[Fake(Watched)], limit=20, output=tmp_path / "run", **chosen)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="None of the selected benchmarks can run here") as caught:
        audit(base, mitigate=[Fake(Watched)], suite="quick", limit=20, output=tmp_path / "run")
    assert "evenhand-likelihood: The mitigation 'fake' does not support likelihoods" in str(caught.value.hint)
    assert not asked and not (tmp_path / "run").exists()


def test_of_a_suite_what_the_mitigation_cannot_serve_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from evenhand.benchmarks import SUITES, Suite

    both = Suite("both", Card("both", "Two."), ("evenhand-likelihood", "regard"))
    monkeypatch.setitem(SUITES, "both", both)
    options = AuditConfig(model="m", suite="both", limit=20, classifiers={"regard": "vader"})
    chosen = select(options, Fake(WritesOnly)(talking()))
    assert [one.name for one in chosen.benchmarks] == ["regard"]
    assert (
        "The results would be those of the model without the mitigation"
        in chosen.left_out["evenhand-likelihood"]
    )


def test_before_and_after_of_likelihoods_is_refused(tmp_path: Path) -> None:
    options = AuditConfig(model="m", benchmarks=("evenhand-likelihood",), limit=20, mitigate=("fake",))
    with pytest.raises(
        Unsupported, match=r"The mitigation 'fake' does not support likelihoods\. The results would"
    ):
        study_before_after(
            options, model=load_puppet("puppet/random"), chain=[Fake(WritesOnly)], output=tmp_path / "study"
        )
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    "words",
    ["prefix=Be kind.", "instruction=respect", "instructive-debiasing", "instructive-debiasing?wording=code"],
)
def test_built_in_instructions_answer_for_both(words: str) -> None:
    model = load_mitigation(words)(load_puppet("puppet/random"))
    assert isinstance(model, Mitigated)
    for answer in ("log_likelihoods", "generate"):
        model.check_answers(answer)  # type: ignore[arg-type]
        assert answer in vars(type(model))


def test_built_in_methods_that_steer_or_trigger_answer_for_both() -> None:
    from evenhand.mitigations.steering.model import SteeredModel
    from evenhand.mitigations.triggers.trigger import TriggeredModel

    for kind in (SteeredModel, TriggeredModel):
        assert {"log_likelihoods", "generate"} <= vars(kind).keys()


def test_a_strangers_maker_that_fails_is_named_with_its_package(installed, tmp_path, monkeypatch):
    (tmp_path / "failing_makers.py").write_text("def make():\n    raise RuntimeError('no weights')\n")
    monkeypatch.syspath_prepend(tmp_path)
    installed("fragile", "evenhand.mitigations", {"fragile": "failing_makers:make"})
    with pytest.raises(
        ExtensionError, match="'fragile' of the package fragile failed: RuntimeError: no weights"
    ):
        load_mitigation("fragile")
    installed("fragile", "evenhand.models", {"fragile/model": "failing_makers:make"})
    with pytest.raises(ExtensionError, match="'fragile/model' of the package fragile failed: RuntimeError"):
        load_model("fragile/model")


class Speechless:
    """A mitigation with everything but the call that applies it."""

    name, card, specification = "speechless", None, None
    parameters = specified = None

    def __call__(self, model):
        return model


def test_methods_that_are_none_are_named_as_lacking(installed):
    installed("speechless", "evenhand.mitigations", {"speechless": f"{__name__}:Speechless"})
    with pytest.raises(ExtensionError, match="Speechless lacks `parameters`, `specified`"):
        load_mitigation("speechless")
