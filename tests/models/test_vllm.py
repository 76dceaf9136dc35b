"""The vLLM backend against a stand-in with vLLM's own signatures and checks that computes with a tiny model."""

import dataclasses
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.models import load_model
from evenhand.models.contract import Texts, text_generator
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue import History, dialogue_model
from evenhand.models.vllm import VllmModel, VllmOptions, load_vllm
from evenhand.schema import ModelError, ResponseError, Unsupported, UsageError

PROMPTS = ["I love old", "", "My neighbour is a kind person who is", "Hi.", "x y " * 60]


@dataclasses.dataclass
class SamplingParams:
    """Names, defaults, types and refusals of vllm.SamplingParams that this backend meets (vLLM 0.11)."""

    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = None
    stop: str | list[str] | None = None
    max_tokens: int | None = 16
    min_tokens: int = 0
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    detokenize: bool = True
    skip_special_tokens: bool = True

    def __post_init__(self) -> None:
        for name, kind in (("n", int), ("temperature", float), ("top_p", float), ("top_k", int)):
            if type(getattr(self, name)) is not kind:
                raise ValueError(f"{name} must be {kind.__name__}, got {getattr(self, name)!r}.")
        if self.seed is not None and not -(2**63) <= self.seed + self.n < 2**63:
            raise ValueError("seed must fit into 64 bits.")
        if not 0 <= self.temperature <= 2:
            raise ValueError(f"temperature must be in [0, 2], got {self.temperature}.")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], got {self.top_p}.")
        if self.top_k < -1:
            raise ValueError("top_k must be 0 (disable), or at least 1.")
        if self.temperature < 1e-5 and self.n > 1:
            raise ValueError("n must be 1 when using greedy sampling.")
        if self.stop and not self.detokenize:
            raise ValueError("stop strings are only supported when detokenize is True.")


@dataclasses.dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclasses.dataclass
class CompletionOutput:
    index: int
    text: str
    token_ids: Sequence[int]
    cumulative_logprob: float | None
    logprobs: Any
    finish_reason: str | None = None
    stop_reason: int | str | None = None


@dataclasses.dataclass
class RequestOutput:
    prompt_token_ids: list[int]
    prompt_logprobs: list[dict[int, Logprob] | None] | None
    outputs: list[CompletionOutput]


class LLM:
    """vllm.LLM's constructor and generate, one text at a time."""

    def __init__(
        self,
        model: str,
        *,
        tokenizer: str | None = None,
        trust_remote_code: bool = False,
        dtype: str = "auto",
        revision: str | None = None,
        tokenizer_revision: str | None = None,
        tensor_parallel_size: int = 1,
        gpu_memory_utilization: float = 0.9,
        logprobs_mode: str = "raw_logprobs",
        max_model_len: int | None = None,
    ) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        if "no-such" in model:
            raise OSError(f"{model} is not a local folder")
        assert logprobs_mode == "raw_logprobs"
        self.model = AutoModelForCausalLM.from_pretrained(model)
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        config = types.SimpleNamespace(
            max_model_len=max_model_len or self.model.config.max_position_embeddings,
            dtype=torch.float32,
            hf_config=self.model.config,
        )
        self.llm_engine = types.SimpleNamespace(model_config=config)

    def get_tokenizer(self) -> Any:
        return self.tokenizer

    @torch.inference_mode()
    def generate(
        self,
        prompts: list[dict[str, list[int]]],
        sampling_params: Sequence[SamplingParams],
        *,
        use_tqdm: bool = True,
    ) -> list[RequestOutput]:
        return [
            self._answer(prompt["prompt_token_ids"], rule)
            for prompt, rule in zip(prompts, sampling_params, strict=True)
        ]

    def _log_probs(self, ids: list[int]) -> torch.Tensor:
        found: torch.Tensor = self.model(torch.tensor([ids])).logits[0].log_softmax(-1)
        return found

    def _answer(self, ids: list[int], rule: SamplingParams) -> RequestOutput:
        told = None
        limit = self.llm_engine.model_config.max_model_len
        assert len(ids) + (rule.max_tokens or 0) <= limit, "the prompt is too long"
        if rule.prompt_logprobs is not None:
            rows = self._log_probs(ids)
            told = [None, *({t: Logprob(float(rows[k, t]))} for k, t in enumerate(ids[1:]))]
        return RequestOutput(ids, told, [self._written(ids, rule, index) for index in range(rule.n)])

    def _written(self, ids: list[int], rule: SamplingParams, index: int) -> CompletionOutput:
        random = torch.Generator()
        if rule.seed is not None:
            random.manual_seed(rule.seed + index)  # as vllm.v1.engine.parallel_sampling does
        tokens: list[int] = []
        text, total, end = "", 0.0, self.tokenizer.eos_token_id
        stops = [rule.stop] if isinstance(rule.stop, str) else rule.stop or []
        reason: tuple[str | None, str | None] = (None, None)
        while reason[0] is None:
            log_probs = self._log_probs([*ids, *tokens])[-1]
            scores = log_probs.clone()
            if len(tokens) < rule.min_tokens:
                scores[end] = -torch.inf
            if rule.temperature < 1e-5:
                token = int(scores.argmax())
            else:
                scores = scores / rule.temperature
                if rule.top_k > 0:
                    scores[scores < scores.topk(rule.top_k).values[-1]] = -torch.inf
                token = int(torch.multinomial(scores.softmax(-1), 1, generator=random))
            tokens.append(token)
            total += float(log_probs[token])
            text = str(self.tokenizer.decode(tokens, skip_special_tokens=True))
            stop = next((one for one in stops if one in text), None)
            if token == end:
                reason = ("stop", None)
            elif stop is not None:
                reason, text = ("stop", stop), text[: text.index(stop)]
            elif len(tokens) == rule.max_tokens:
                reason = ("length", None)
        asked = rule.logprobs is not None
        return CompletionOutput(index, text, tokens, total if asked else None, None, *reason)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("vllm")
    module.__dict__.update(LLM=LLM, SamplingParams=SamplingParams, __version__="0.11.0")
    monkeypatch.setitem(sys.modules, "vllm", module)


@pytest.fixture
def model(stand_in: None, tiny_folder: Callable[..., Path]) -> VllmModel:
    return load_vllm(f"vllm:{tiny_folder('gpt2')}")


def test_greedy_texts_are_those_of_the_hugging_face_backend(
    model: VllmModel, tiny_folder: Callable[..., Path]
) -> None:
    other: Any = load_model(str(tiny_folder("gpt2")))
    rule = Decoding(max_new_tokens=12, min_new_tokens=3)
    found, expected = text_generator(model).generate(PROMPTS, rule), other.generate(PROMPTS, rule)
    assert found.texts == expected.texts and found.token_ids.tolist() == expected.token_ids.tolist()
    assert found.finish == expected.finish and found.errors == expected.errors
    assert found.errors[1] is ResponseError.EMPTY_TEXT and found.errors[4] is ResponseError.TOO_LONG
    np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, atol=1e-3)
    text = expected.texts[0]
    assert text is not None
    stopped = model.generate(PROMPTS[:1], Decoding(max_new_tokens=12, stop=(text[4:6],)))
    assert stopped.finish == ["stop"] and stopped.texts == [text.split(text[4:6])[0]]


def test_token_ids_are_continued_as_they_are(model: VllmModel, tiny_folder: Callable[..., Path]) -> None:
    other: Any = load_model(str(tiny_folder("gpt2")))
    ids = [model.tokenizer(text)["input_ids"] for text in (PROMPTS[0], "", PROMPTS[2], "x y " * 80)]
    keys, rule = ["a", "b", "c", "d"], Decoding(max_new_tokens=12)
    found, expected = model.generate_ids(ids, keys, rule), other.generate_ids(ids, keys, rule)
    assert found.texts == expected.texts and found.errors == expected.errors
    drawn = Decoding(max_new_tokens=6, temperature=1.0, seed=2)
    texts = [model.generate_ids(ids[:1], [key], drawn).texts for key in ("a", "a", "b")]
    assert texts[0] == texts[1] != texts[2]
    with pytest.raises(UsageError, match="but the model knows only 0 to"):
        model.generate_ids([[len(model.tokenizer)]], ["a"], rule)
    dialogue = dialogue_model(model)
    rows = dialogue.reply([History((), ("Hi.",))], rule)
    assert rows.texts == dialogue_model(other).reply([History((), ("Hi.",))], rule).texts


def test_likelihoods_are_those_of_the_hugging_face_backend(
    model: VllmModel, tiny_folder: Callable[..., Path], sentences: list[str]
) -> None:
    other: Any = load_model(str(tiny_folder("gpt2")))
    contexts = ["They said:" if i % 2 else None for i in range(len(sentences) + 2)]
    spans = [(2, 7) if i % 3 == 0 else None for i in range(len(sentences) + 2)]
    texts = [*sentences, "", "x y " * 80]
    for options in ({}, {"contexts": contexts}, {"contexts": contexts, "spans": spans, "want_starts": True}):
        found, expected = (
            model.log_likelihoods(Texts(texts, **options)),
            other.log_likelihoods(Texts(texts, **options)),
        )
        np.testing.assert_allclose(found.log_probs, expected.log_probs, atol=1e-4)
        for name in ("offsets", "token_ids", "starts"):
            assert getattr(found, name).tolist() == getattr(expected, name).tolist()
        assert [e and e.value for e in found.errors] == [e and e.value for e in expected.errors]
    with pytest.raises(Unsupported, match="no mask token"):
        model.log_likelihoods(Texts(texts, masking="token"))


def test_samples_depend_on_seed_prompt_and_number(model: VllmModel) -> None:
    rule = Decoding(max_new_tokens=6, temperature=1.0, top_k=40, top_p=0.9, samples=3, seed=2)
    whole, alone = model.generate(PROMPTS, rule), model.generate(PROMPTS[2:3], rule)
    assert alone.texts == whole.texts[6:9] and len(set(alone.texts)) > 1
    assert whole.sample.tolist() == [0, 1, 2] * 5
    other = Decoding(max_new_tokens=6, temperature=1.0, top_k=40, top_p=0.9, samples=3, seed=3)
    assert model.generate(PROMPTS, other).texts != whole.texts


def test_what_vllm_cannot_do_is_refused(model: VllmModel) -> None:
    with pytest.raises(Unsupported, match="num_beams"):
        model.generate(PROMPTS, Decoding(max_new_tokens=3, num_beams=3))
    with pytest.raises(Unsupported, match="no_repeat_ngram_size"):
        model.generate(PROMPTS, Decoding(max_new_tokens=3, no_repeat_ngram_size=3))
    with pytest.raises(Unsupported, match=r"temperature must be in \[0, 2\]"):
        model.generate(PROMPTS, Decoding(max_new_tokens=3, temperature=3.0))
    assert len(model.generate(["", " "], Decoding(max_new_tokens=3))) == 2


def test_nan_is_an_error_row(model: VllmModel, monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.no_grad():
        model.engine.model.lm_head.weight[7] = torch.nan
    assert set(model.generate(["Hi."], Decoding(max_new_tokens=3)).errors) == {ResponseError.NOT_FINITE}
    assert model.log_likelihoods(["Hi."]).errors == [ResponseError.NOT_FINITE]


def test_fingerprint_options_and_errors(
    model: VllmModel, tiny_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tiny_folder("gpt2"))
    assert model.fingerprint["backend"] == "vllm" and model.fingerprint["name"] == folder
    assert model.describe()["family"] == "gpt2" and model.describe()["vllm"] == "0.11.0"
    ended = load_vllm(folder, options=VllmOptions(end=True, engine={"max_model_len": 64}))
    assert ended.fingerprint != model.fingerprint and ended.longest == 64
    with pytest.raises(Unsupported, match="True requires a chat template, but this tokenizer has"):
        load_vllm(folder, options=VllmOptions(chat=True))
    with pytest.raises(ModelError, match="could not load"):
        load_vllm(folder, options=VllmOptions(engine={"no_such_argument": 1}))
    with pytest.raises(ModelError, match=r"vLLM 0\.11\.0 could not load 'no-such-model': no-such-model is"):
        load_vllm("vllm:no-such-model")
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(ModelError, match=r"evenhand\[vllm\]"):
        load_vllm("vllm:gpt2")
