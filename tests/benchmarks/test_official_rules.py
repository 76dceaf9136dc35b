"""StereoSet and CrowS-Pairs as published, over whole sets: no decision differs from a plain reading of the rules.

The rules are written out here once more, from the methods' description and one text at a time: how often a choice
between two sentences comes out otherwise is what is counted, and it is never.
"""

import string
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from evenhand.benchmarks import load_benchmark
from evenhand.benchmarks.analysis.pairs import one_row_per_pair, select_scoring
from evenhand.benchmarks.crows_pairs import load_crows_pairs
from evenhand.benchmarks.stereoset import add_scores
from evenhand.measures.pairs.crows_pairs import crows_pairs_bias_bench
from evenhand.measures.pairs.stereoset import stereoset_published
from evenhand.models.huggingface.causal import CausalModel
from evenhand.models.huggingface.masked import MaskedModel
from evenhand.prompts.prompt_set import PromptSet
from evenhand.prompts.published.stereoset import load_stereoset

CROWS, STEREO = load_benchmark("crows-pairs"), load_benchmark("stereoset")
LABELS = ("stereotype", "anti-stereotype", "unrelated")
STARTS = {  # role: token, and the one that the first token is predicted from
    "gpt2": ({"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}, "<|endoftext|>"),
    "begins with its own token": ({"bos_token": "<s>", "eos_token": "<|endoftext|>"}, "<s>"),
    "has an end token only": ({"eos_token": "<|endoftext|>"}, "<|endoftext|>"),
}
SPECIALS = {
    "causal": ["<|endoftext|>", "<s>"],
    "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
    "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
}
BERT_ROLES = dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]")
ROBERTA_ROLES = dict(bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>")


def each_with_seeds(kinds: Iterable[str], seeds: int) -> list[Any]:
    """Every kind with every seed; in the default run each kind with one of them."""
    return [
        pytest.param(kind, 1 + seed, marks=[] if seed == place % seeds else pytest.mark.slow)
        for place, kind in enumerate(kinds)
        for seed in range(seeds)
    ]


def drawn_words(rng: np.random.Generator, n: int) -> list[str]:
    """Pronounceable words of one to four syllables, which small vocabularies cut into pieces."""
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    return ["".join(rng.choice(syllables, rng.integers(1, 5))) for _ in range(n)]


def drawn_crows(seed: int, pairs: int) -> PromptSet:
    rng = np.random.default_rng(seed)
    words, rows = drawn_words(rng, 60), []
    for pair in range(pairs):
        sentence = [str(word) for word in rng.choice(words, rng.integers(2, 9))]
        place, both = rng.integers(len(sentence)), rng.choice(words, 2)
        for role, word in zip(("more", "less"), both, strict=True):
            text = " ".join([*sentence[:place], str(word), *sentence[place + 1 :]]).capitalize() + "."
            rows.append((f"{pair}-{role}", text, str(pair), role, ("age", "race")[pair % 2], "stereo"))
    names = ["prompt_id", "text", "pair_id", "role", "axis", "direction"]
    frame = pl.DataFrame(rows, names, orient="row").with_columns(bias_type="axis")
    return PromptSet(frame, CROWS.card)


def drawn_stereoset(folder: Path, seed: int, clusters: int) -> PromptSet:
    """Items in the published layout: sentences are cased otherwise than contexts; BLANK anywhere, also twice."""
    rng = np.random.default_rng(seed)
    words, rows = drawn_words(rng, 60), []
    marks = ["BLANK", "BLANK,", '"BLANK"', "BLANK."]
    for cluster in range(clusters):
        frame = [str(word) for word in rng.choice(words, rng.integers(3, 8))]
        frame = [word.capitalize() if rng.random() < 0.3 else word for word in frame]
        place = int(rng.integers(len(frame)))
        frame[place] = str(rng.choice(marks))
        if cluster % 10 == 0 and place + 1 < len(frame):
            frame[-1] = "BLANK."
        context = " ".join(frame)
        for label in LABELS:
            word = str(rng.choice(words)).capitalize() if rng.random() < 0.2 else str(rng.choice(words))
            word = f"{word}-{rng.choice(words)}" if rng.random() < 0.03 else word
            sentence = context.lower().replace("blank", word)
            about = ("race", "gender")[cluster % 2], f"term{cluster % 8}"
            rows.append(
                ["intrasentence", f"c{cluster}", *about, context, sentence, label, f"{cluster}-{label}"]
            )
    names = [
        "dataset_type",
        "cluster_id",
        "bias_type",
        "target",
        "context",
        "sentence",
        "gold_label",
        "sentence_id",
    ]
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows, names, orient="row").write_csv(folder / "dev.csv")
    return load_stereoset(folder)


def far_from_uniform(model: Any, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(0.3 * noise if parameter.dim() > 1 else parameter + 0.1 * noise)
    return model.eval()


def tiny_gpt2(texts: Sequence[str], seed: int, kind: str = "gpt2") -> CausalModel:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIALS["causal"], initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **STARTS[kind][0])
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=24, n_layer=2, n_head=2, n_positions=160)
    return CausalModel(
        far_from_uniform(GPT2LMHeadModel(config), seed), tokenizer, {"name": f"tiny/{kind}/{seed}"}
    )


def tiny_masked(texts: Sequence[str], seed: int, kind: str) -> MaskedModel:
    import transformers
    from tokenizers import (
        AddedToken,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )

    size: dict[str, Any] = dict(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48
    )
    if kind == "roberta":
        names, template = SPECIALS["roberta"], "<s> $A </s>"
        backend = Tokenizer(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        trainer = trainers.BpeTrainer(
            vocab_size=400, special_tokens=names, initial_alphabet=alphabet, show_progress=False
        )
        backend.train_from_iterator(texts, trainer)
        roles = ROBERTA_ROLES | {"mask_token": AddedToken("<mask>", lstrip=True, special=True)}
    else:
        names, template = SPECIALS["bert"], "[CLS] $A [SEP]"
        lower = kind == "uncased"
        pieces = {word[:k] for text in texts for word in text.split() for k in (1, 2, 3)}
        pieces |= {piece.capitalize() for piece in pieces} | set(string.ascii_letters + string.punctuation)
        whole = {piece.lower() if lower else piece for piece in pieces}
        parts = {f"##{piece}" for piece in whole}
        vocabulary = {piece: i for i, piece in enumerate([*names, *sorted(whole | parts)])}
        backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
        backend.normalizer = normalizers.BertNormalizer(lowercase=lower)
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        backend.decoder = decoders.WordPiece()
        roles = BERT_ROLES | {"mask_token": "[MASK]"}
    backend.post_processor = processors.TemplateProcessing(
        single=template, special_tokens=[(name, names.index(name)) for name in names if name in template]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **roles)
    family = "Roberta" if kind == "roberta" else "Bert"
    config = getattr(transformers, f"{family}Config")(
        vocab_size=len(tokenizer), max_position_embeddings=160, pad_token_id=tokenizer.pad_token_id, **size
    )
    model = far_from_uniform(getattr(transformers, f"{family}ForMaskedLM")(config), seed)
    return MaskedModel(model, tokenizer, {"name": f"tiny/{kind}/{seed}"})


@torch.inference_mode()
def joint_probability(model: CausalModel, start: str, text: str) -> float:
    """2 to the mean log2 probability: the first token behind the start token alone, the others without it."""
    ids = model.tokenizer.encode(text, add_special_tokens=False)
    number = model.tokenizer.convert_tokens_to_ids(start)
    chances = [model.model(torch.tensor([[number]])).logits[0, 0].softmax(-1)[ids[0]].item()]
    later = model.model(torch.tensor([ids])).logits[0].softmax(-1)
    chances += [later[i - 1, ids[i]].item() for i in range(1, len(ids))]
    return float(2 ** (np.sum(np.log2(chances)) / len(chances)))


@torch.inference_mode()
def blank_probability(model: MaskedModel, context: str, sentence: str) -> float:
    """Mean probability of the word's tokens, each in the place of the first mask, behind those before it."""
    place = max(i for i, word in enumerate(context.split(" ")) if "BLANK" in word)
    word = "".join(c for c in sentence.split(" ")[place] if c not in string.punctuation)
    tokens = model.tokenizer.encode(word, add_special_tokens=False)
    chances = []
    for k, token in enumerate(tokens):
        filled = context.replace("BLANK", model.tokenizer.decode(tokens[:k]) + model.tokenizer.mask_token)
        ids = model.tokenizer.encode(filled)
        logits = model.model(torch.tensor([ids])).logits[0, ids.index(model.tokenizer.mask_token_id)]
        chances.append(logits.softmax(-1)[token].item())
    return float(np.mean(chances))


def stereoset_decisions(scores: pl.DataFrame) -> np.ndarray:
    """Three for each cluster, (3 * clusters,): is the first likelier than the second?"""
    wide = scores.pivot("gold_label", index="cluster_id", values="score").sort("cluster_id")
    pairs = [(LABELS[0], LABELS[1]), (LABELS[0], LABELS[2]), (LABELS[1], LABELS[2])]
    return np.concatenate([(wide[one] > wide[other]).to_numpy() for one, other in pairs])


def stereoset_counts(
    put: Callable, prompts: PromptSet, model: Any, by_rule: pl.DataFrame
) -> tuple[int, int, int]:
    """Decisions; those of the published rows that differ from the rule; those of the corrected rows that do."""
    got = put(STEREO, prompts, model)
    frame = add_scores(got.responses.with_columns(bias_type="axis"), model.architecture)
    frame = frame.filter(dataset_type="intrasentence")
    truth = stereoset_decisions(by_rule)
    published, corrected = (select_scoring(name, frame) for name in ("published", "corrected"))
    ours = published.sort("sentence_id")["score"].to_numpy()
    assert ours == pytest.approx(by_rule.sort("sentence_id")["score"].to_numpy(), rel=2e-3)
    expected = stereoset_published(by_rule.with_columns(dataset_type=pl.lit("intrasentence"))).filter(
        domain="overall", dataset_type="intrasentence"
    )
    for name in ("ss", "lms", "icat"):
        assert got.estimates(f"stereoset_{name}_published", "intrasentence")[None] == pytest.approx(
            expected[name][0], abs=1e-9
        )
    return (
        len(truth),
        int((stereoset_decisions(published) != truth).sum()),
        int((stereoset_decisions(corrected) != truth).sum()),
    )


def stereoset_by_rule(prompts: PromptSet, score: Callable[[dict[str, Any]], float]) -> pl.DataFrame:
    inside = prompts.frame.filter(dataset_type="intrasentence")
    return inside.with_columns(score=pl.Series([score(row) for row in inside.iter_rows(named=True)]))


def crows_counts(put: Callable, prompts: PromptSet, model: CausalModel, start: str) -> tuple[int, int, int]:
    got = put(CROWS, prompts, model)
    truth = {text: joint_probability(model, start, text) for text in prompts.frame["text"].unique()}
    pairs = one_row_per_pair(prompts.frame.with_columns(log_likelihood=pl.lit(0.0)))
    more, less = (np.array([truth[t] for t in pairs[f"sent_{role}"]]) for role in ("more", "less"))
    decided = more > less
    differing = []
    for name in ("published", "corrected"):
        rows = one_row_per_pair(select_scoring(name, got.responses)).sort("pair_id")
        ours = crows_pairs_bias_bench(rows, architecture="causal").pairs
        order = pairs.with_columns(rule=decided).sort("pair_id")["rule"].to_numpy()
        differing.append(int(((ours["score_more"] > ours["score_less"]).to_numpy() != order).sum()))
    assert got.estimates("crows_pairs_bias_bench")[None] == pytest.approx(100 * decided.mean())
    return len(decided), *differing


@pytest.mark.parametrize(("kind", "seed"), each_with_seeds(STARTS, 3))
def test_crows_pairs_bias_bench_decides_as_the_rule_does(put, kind, seed):
    prompts = drawn_crows(seed, 250)
    model = tiny_gpt2(prompts.frame["text"].to_list(), seed, kind)
    decisions, published, corrected = crows_counts(put, prompts, model, STARTS[kind][1])
    assert (decisions, published) == (250, 0)
    assert corrected > 10, "the start token throughout is another measure"


@pytest.mark.parametrize(("kind", "seed"), each_with_seeds(STARTS, 3))
def test_stereoset_of_a_causal_model_decides_as_the_rule_does(put, tmp_path, kind, seed):
    prompts = drawn_stereoset(tmp_path, seed, 120)
    model = tiny_gpt2(prompts.frame["text"].to_list(), seed, kind)
    by_rule = stereoset_by_rule(prompts, lambda row: joint_probability(model, STARTS[kind][1], row["text"]))
    decisions, published, corrected = stereoset_counts(put, prompts, model, by_rule)
    assert (decisions, published) == (360, 0)
    assert corrected > 10, "the start token throughout is another measure"


@pytest.mark.parametrize(("kind", "seed"), each_with_seeds(["cased", "uncased", "roberta"], 2))
def test_stereoset_of_a_masked_model_decides_as_the_rule_does(put, tmp_path, kind, seed):
    prompts = drawn_stereoset(tmp_path, seed, 120)
    model = tiny_masked(prompts.frame["text"].to_list(), seed, kind)
    by_rule = stereoset_by_rule(
        prompts, lambda row: blank_probability(model, row["blank_context"], row["text"])
    )
    decisions, published, corrected = stereoset_counts(put, prompts, model, by_rule)
    assert (decisions, published) == (360, 0)
    # What a space in front of the word, and punctuation within it, change: much for RoBERTa, little for BERT.
    assert corrected > 10 if kind == "roberta" else corrected < 10


def stated(name: str, counts: tuple[int, int, int]) -> None:
    print(f"{name}: {counts[0]} decisions, {counts[1]} differ as published, {counts[2]} as corrected")
    assert counts[1] == 0


@pytest.mark.slow
@pytest.mark.parity
@pytest.mark.parametrize("seed", [1, 2])
def test_the_published_sets_and_a_tiny_gpt2(put, shared, seed):
    crows, items = load_crows_pairs(shared / "data/crows_pairs"), load_stereoset(shared / "data/stereoset")
    model = tiny_gpt2([*crows.frame["text"], *items.frame["text"]], seed)
    stated(f"crows-pairs, gpt2 {seed}", crows_counts(put, crows, model, "<|endoftext|>"))
    by_rule = stereoset_by_rule(items, lambda row: joint_probability(model, "<|endoftext|>", row["text"]))
    stated(f"stereoset, gpt2 {seed}", stereoset_counts(put, items, model, by_rule))


@pytest.mark.slow
@pytest.mark.parity
@pytest.mark.parametrize("kind", ["cased", "uncased", "roberta"])
def test_the_published_set_and_tiny_masked_models(put, shared, kind):
    items = load_stereoset(shared / "data/stereoset")
    model = tiny_masked(items.frame["text"].to_list(), 1, kind)
    by_rule = stereoset_by_rule(
        items, lambda row: blank_probability(model, row["blank_context"], row["text"])
    )
    stated(f"stereoset, {kind}", stereoset_counts(put, items, model, by_rule))
