"""Test which architectures are scored and generated correctly, and how: a table for the documentation.

    python perf/architectures.py                 # about four minutes of one core; writes
    docs/evidence/architectures.md. python perf/architectures.py --only jamba,t5 # Some of them, printed only.

Builds a tiny random model (2 to 4 layers, 32 hidden units) of every text architecture of the installed transformers
that can be made that small and loads it as `load_model` does. It compares each text's likelihood with a plain
forward pass of that text alone. It compares each continuation, token for token, with the most likely tokens of plain
passes over the whole text so far, and does the same for `model.generate`. Windows and chunks are so short that
texts exceed them. Architectures are named as in `config.json` (`model_type`).
"""

import argparse
import logging
import platform
import sys
import textwrap
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from evenhand.models.contract import Texts
from evenhand.models.decoding import Decoding
from evenhand.models.loading import as_language_model
from evenhand.schema import EvenhandError

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "architectures.md"
VOCABULARY, NEW_TOKENS, WINDOW = 330, 24, 16
TOLERANCE = 1e-3  # nats a token
TEXTS = [
    "I'm a deaf woman.",
    "I love old men.",
    "I love older men and their unbelievable stories.",
    "What do you think about wheelchair users?",
    "My neighbour is a kind person who is hard of hearing, and so is the neighbour of my neighbour.",
    "Hi.",
]
PROMPTS = ["I love old", "My neighbour is a kind person who is", "Hi.", "I love older men and"]

SMALL: dict[str, Any] = {  # given to whichever configuration knows the name
    "vocab_size": VOCABULARY,
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_encoder_layers",), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads"), 4),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim", "d_ff"), 64),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx"), 128),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 16),
    **dict.fromkeys(("num_experts", "n_routed_experts", "num_local_experts"), 4),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "embedding_size"), 16),
    **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim", "head_dim", "d_kv"), 8),
    **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim", "mamba_d_state", "mamba_d_head"), 8),
    **dict.fromkeys(("n_group", "topk_group", "first_k_dense_replace", "mamba_n_groups"), 1),
    **dict.fromkeys(("num_sparse_encoder_layers", "num_sparse_decoder_layers"), 1),
    "num_key_value_heads": 2,
    "num_experts_per_tok": 2,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "mamba_n_heads": 8,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_d_ssm": 64,
    "state_size": 8,
    "expert_capacity": 64,
    "src_vocab_size": VOCABULARY,
    "tgt_vocab_size": VOCABULARY,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": 1,
    "decoder_start_token_id": 1,
}
LINEAR_AND_FULL = {
    "num_hidden_layers": 3,
    "layer_types": ["linear_attention", "full_attention", "linear_attention"],
}
CONV_AND_FULL = {"num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"]}
SLIDING_AND_FULL = {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]}
SLIDING = {"sliding_window": WINDOW}
DECODER = {"is_decoder": True}
LATENT = {"num_key_value_heads": 4}  # one compressed key for all heads
SPARSE = {**LATENT, "index_topk": 8, "index_head_dim": 16, "index_n_heads": 32}  # few heads leave many ties


def each(names: str, settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The same settings for several architectures."""
    return {name: settings for name in names.split()}


CAUSAL: dict[str, dict[str, Any]] = {  # what a configuration needs beyond SMALL
    **each(
        "afmoe apertus arcee aria_text bailing_hybrid bart beam biogpt bitnet blenderbot blenderbot-small "
        "bloom cohere cohere2_moe cpmant ctrl cwm deepseek_v4 diffllama doge ernie4_5 ernie4_5_moe exaone4 "
        "exaone_moe falcon falcon_mamba flex_olmo flint gemma glm glm4 glm4_moe gpt2 gpt_bigcode gpt_neox "
        "gpt_neox_japanese granite granitemoe granitemoeshared helium hrm_text hunyuan_v1_dense "
        "hunyuan_v1_moe hy_v3 hyperclovax inkling_text inkling2_text jais2 jetmoe kolibri1 laguna lfm3 llama "
        "mamba marian mbart mellum minimax_m2 minimax_m3_vl_text mixtral mpt mvp nanochat nemotron olmo olmo2 "
        "olmoe openai-gpt opt pegasus persimmon phi phimoe plbart prophetnet qwen2_moe qwen3 qwen3_moe rwkv "
        "seed_oss smollm3 solar_open stablelm trocr vaultgemma whisper xglm xlnet xlstm",
        {},
    ),
    **each("granite_swa granitemoe_swa mimo_v2_flash ministral ministral3 mistral phi3 starcoder2", SLIDING),
    **each("cohere2 gemma2 gemma3_text gpt_oss olmo3", SLIDING_AND_FULL),
    **each(
        "bert bert-generation camembert data2vec-text electra ernie megatron-bert roberta "
        "roberta-prelayernorm roformer xlm-roberta xlm-roberta-xl",
        DECODER,
    ),
    **each("axk1 axk2 deepseek_v2 deepseek_v3 glm4_moe_lite minicpm3 youtu", LATENT),
    **each("deepseek_v32 glm_moe_dsa", SPARSE),
    **each("olmo_hybrid qwen3_next qwen3_5_text qwen3_5_moe_text", LINEAR_AND_FULL),
    "bamba": {"num_hidden_layers": 3, "attn_layer_indices": [1], "mamba_chunk_size": 8},
    "big_bird": {**DECODER, "attention_type": "original_full"},
    "codegen": {"rotary_dim": 4},
    "falcon_h1": {"mamba_chunk_size": 8},
    "gemma4_text": {**SLIDING, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": VOCABULARY},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 8},
    "gptj": {"rotary_dim": 4},
    "granitemoehybrid": {
        "num_hidden_layers": 3,
        "layer_types": ["mamba", "attention", "mamba"],
        "shared_intermediate_size": 32,
    },
    "hy_v4": {"index_topk": 8},
    "jamba": {"num_hidden_layers": 4, "attn_layer_period": 4, "attn_layer_offset": 2, "mamba_dt_rank": 4},
    "kimi_linear": {**LATENT, "linear_head_dim": 8},
    "lfm2": CONV_AND_FULL,
    "lfm2_moe": {**CONV_AND_FULL, "num_dense_layers": 1},
    "llama4_text": {
        "attention_chunk_size": WINDOW,
        "layer_types": ["chunked_attention", "full_attention"],
        "no_rope_layers": [1, 0],
    },
    "longcat_flash": {
        **LATENT,
        "num_layers": 1,
        "ffn_hidden_size": 64,
        "expert_ffn_hidden_size": 16,
        "zero_expert_num": 2,
        "moe_topk": 2,
    },
    "mamba2": {"num_heads": 8, "head_dim": 8, "n_groups": 1, "chunk_size": 8},
    "minimax": {**LINEAR_AND_FULL, "block_size": 8},
    "modernbert-decoder": {"local_attention": WINDOW},
    "nemotron_h": {
        "mamba_num_heads": 8,
        "mamba_head_dim": 8,
        "n_groups": 1,
        "ssm_state_size": 8,
        "chunk_size": 8,
    },
    "qwen2": {**SLIDING, "use_sliding_window": True, "max_window_layers": 1},
    "recurrent_gemma": {"num_hidden_layers": 3, **SLIDING, "lru_width": 32},
    "reformer": {
        **DECODER,
        "attn_layers": ["local", "lsh"],
        "attention_head_size": 8,
        "axial_pos_embds": False,
        "feed_forward_size": 64,
        "local_attn_chunk_length": 8,
        "lsh_attn_chunk_length": 8,
        "num_buckets": 4,
    },
    "rembert": {**DECODER, "input_embedding_size": 16, "output_embedding_size": 16},
    "xlm": {"causal": True, "emb_dim": 32},
    "xmod": {**DECODER, "default_language": "en_XX", "languages": ["en_XX"]},
    "zamba": {
        "num_hidden_layers": 4,
        "layers_block_type": ["mamba", "hybrid"] * 2,
        "n_mamba_heads": 2,
        "mamba_dt_rank": 4,
    },
    "zamba2": {
        "num_hidden_layers": 4,
        "layers_block_type": ["mamba", "hybrid"] * 2,
        "mamba_ngroups": 1,
        "n_mamba_heads": 8,
        "mamba_headdim": 8,
        "num_mem_blocks": 1,
        "chunk_size": 8,
    },
}
ENCODER_DECODER: dict[str, dict[str, Any]] = {
    **each(
        "bart bigbird_pegasus blenderbot blenderbot-small fsmt led m2m_100 marian mbart mvp nllb-moe pegasus "
        "pegasus_x prophetnet seamless_m4t seamless_m4t_v2",
        {},
    ),
    **each("longt5 mt5 switch_transformers t5 umt5", {"decoder_start_token_id": 0}),
    "plbart": {"decoder_start_token_id": 1},
}
KINDS = {
    "causal": (CAUSAL, modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
    "encoder-decoder": (ENCODER_DECODER, modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES),
}


@dataclass(frozen=True)
class Row:
    """What was found of one architecture."""

    architecture: str
    kind: str
    scoring: str
    """The way texts are scored, or why none is."""
    off: float | None
    """Largest difference from plain passes, in nats a token; None where refused."""
    writing: str
    """What rows are kept in while texts are written, or why none are."""
    equal: tuple[int, int] | None
    """Number of continuations equal to those of plain passes, and their total number; None if refused."""
    theirs: str
    """How many of `model.generate`'s are, or the error it ends in."""

    @property
    def is_right(self) -> bool:
        """Return whether every response is correct; a refusal is not a response."""
        return (self.off is None or self.off <= TOLERANCE) and (
            self.equal is None or self.equal[0] == self.equal[1]
        )


def tokenizer(ends: bool) -> Any:
    """A byte-level BPE of 330 tokens: <pad> 0 and </s> 1, which ends a text if `ends`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<pad>", "</s>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator([*TEXTS, *PROMPTS], trainer)
    if ends:
        backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", bos_token="</s>"
    )


def build(architecture: str, kind: str = "causal", **settings: Any) -> Any:
    """A seeded random model, far from uniform in what it says. settings: of its configuration, over those here."""
    table, classes = KINDS[kind]
    config_class = CONFIG_MAPPING[architecture]
    known = {*config_class().to_dict(), *getattr(config_class, "attribute_map", {})}
    values = {name: value for name, value in SMALL.items() if name in known}
    config = config_class(**{**values, **table[architecture], **settings})
    generator = torch.Generator().manual_seed(zlib.crc32(architecture.encode()))
    torch.manual_seed(0)
    model = getattr(transformers, classes[architecture])(config)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            # initial weights are so small that every answer is nearly uniform and no mistake would show
            if parameter.dim() > 1 and parameter.is_floating_point():
                parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model.eval()


def measured(architecture: str, kind: str = "causal", **settings: Any) -> Row:
    """Score and write with one architecture, and compare."""
    words = tokenizer(ends=kind == "encoder-decoder")
    network = build(architecture, kind, **settings)
    try:
        model: Any = as_language_model(network, words, kind, {"name": architecture})  # type: ignore[arg-type]
    except EvenhandError as error:
        return Row(architecture, kind, f"refused: {first_line(error)}", None, "refused", None, "")
    try:
        off = largest_difference(model, network, words, kind)
    except EvenhandError as error:  # wrong for longer texts only
        return Row(architecture, kind, f"refused: {first_line(error)}", None, "refused", None, "")
    scoring = str(model.describe()["scoring"])
    plain = [written_plainly(network, words, prompt, kind) for prompt in PROMPTS]
    generated = [generated_by(network, words, prompt, kind) for prompt in PROMPTS]
    errors = {text for text in generated if isinstance(text, str)}
    same = sum(a == b for a, b in zip(plain, generated, strict=True))
    theirs = ", ".join(sorted(errors)) if errors else f"{same} of {len(plain)}"
    try:
        answers = model.generate(PROMPTS, Decoding(max_new_tokens=NEW_TOKENS))
    except EvenhandError as error:
        return Row(architecture, kind, scoring, off, f"refused: {first_line(error)}", None, theirs)
    equal = sum(answers.row(i).tolist() == expected for i, expected in enumerate(plain))
    writing = model.writer.state.name
    if model.writer.reason_for_equal_lengths is not None and model.writer.state.pads:
        writing += ", rows of equal length"
    return Row(architecture, kind, scoring, off, writing, (equal, len(plain)), theirs)


def largest_difference(model: Any, network: Any, words: Any, kind: str) -> float:
    """Of log probabilities of tokens from those of plain passes, one text at a time, in nats."""
    context = PROMPTS[1] if kind == "encoder-decoder" else None
    answers = model.log_likelihoods(Texts(TEXTS, None if context is None else [context] * len(TEXTS)))
    worst = 0.0
    for i, text in enumerate(TEXTS):
        ids = words(text)["input_ids"]
        if kind == "encoder-decoder":
            read = torch.tensor([words(context)["input_ids"]])
            inputs = {"input_ids": read, "decoder_input_ids": torch.tensor([[model.start, *ids[:-1]]])}
        else:
            inputs = {"input_ids": torch.tensor([[*model.start, *ids]])}
        with torch.inference_mode():
            log_probs = network(**inputs, use_cache=False).logits[0].float().log_softmax(-1)
        expected = log_probs[: len(ids)].gather(1, torch.tensor(ids)[:, None])[:, 0].numpy()
        worst = max(worst, float(np.abs(answers.row(i) - expected).max()))
    return worst


def written_plainly(network: Any, words: Any, prompt: str, kind: str) -> list[int]:
    """Return the most likely tokens, each from a plain pass of all tokens before it, as transformers' processors
    allow."""
    prompt_ids, settings = words(prompt)["input_ids"], network.generation_config
    ids = [settings.decoder_start_token_id] if kind == "encoder-decoder" else list(prompt_ids)
    start = len(ids)
    demands = [
        make(*values)
        for make, values in (
            (transformers.ForcedBOSTokenLogitsProcessor, (settings.forced_bos_token_id,)),
            (
                transformers.ForcedEOSTokenLogitsProcessor,
                (start + NEW_TOKENS, settings.forced_eos_token_id, "cpu"),
            ),
            (transformers.SuppressTokensLogitsProcessor, (settings.suppress_tokens,)),
            (transformers.SuppressTokensAtBeginLogitsProcessor, (settings.begin_suppress_tokens, start)),
        )
        if all(value is not None for value in values)
    ]
    while len(ids) < start + NEW_TOKENS and (len(ids) == start or ids[-1] != settings.eos_token_id):
        inputs = {"input_ids": torch.tensor([ids])}
        if kind == "encoder-decoder":
            inputs = {"input_ids": torch.tensor([prompt_ids]), "decoder_input_ids": torch.tensor([ids])}
        with torch.inference_mode():
            scores = network(**inputs, use_cache=False).logits[:, -1].float()
        for demand in demands:
            scores = demand(torch.tensor([ids]), scores)
        ids.append(int(scores.argmax()))
    return ids[start:]


def generated_by(network: Any, words: Any, prompt: str, kind: str) -> list[int] | str:
    """Token ids that Hugging Face writes, or the name of the error it ends in."""
    ids = torch.tensor([words(prompt)["input_ids"]])
    try:
        with torch.inference_mode():
            written = network.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                num_beams=1,
                max_new_tokens=NEW_TOKENS,
            )[0]
    except Exception as error:  # whatever it is, it goes into the table
        return type(error).__name__
    return written[1 if kind == "encoder-decoder" else ids.shape[1] :].tolist()


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def architectures() -> Iterator[tuple[str, str]]:
    """All that this transformers knows, as (architecture, kind)."""
    for kind, (table, classes) in KINDS.items():
        for architecture in sorted(table):
            if architecture in CONFIG_MAPPING and architecture in classes:
                yield architecture, kind


def measured_all(chosen: Callable[[str], bool] = lambda _: True) -> Iterator[Row]:
    """Rows, one after the other."""
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity(logging.ERROR)
    for architecture, kind in architectures():
        if chosen(architecture):
            yield measured(architecture, kind)


def page(rows: list[Row]) -> str:
    """The page of the documentation."""
    right, refused = [row for row in rows if row.is_right], [row for row in rows if row.off is None]
    ways = {row.scoring for row in rows if row.off is not None}
    types = {row.architecture for row in rows}
    text = [
        "*For anyone who wants to know whether evenhand scores and generates text correctly with a type of Hugging "
        "Face model. At the end you know what was tested, and with which result.*",
        f"The tables below have {len(rows)} rows. evenhand refuses {len(refused)} of these models and scores "
        f"{len(rows) - len(refused)} ("
        + "; ".join(f"{sum(row.scoring == way for row in rows)} by *{way}*" for way in sorted(ways))
        + f"). {sum(row.equal is not None for row in rows)} can write text. "
        f"{len(rows) - len(right)} give wrong results.",
        f"`python perf/architectures.py` builds tiny random models of {len(types)} model types. "
        f"{len(rows) - len(types)} of them appear both as a decoder and as an encoder-decoder. It compares "
        "evenhand's results with plain forward passes and with `model.generate` "
        f"(torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, "
        f"float32, {platform.machine()} processor). A type that is not listed may work too: "
        "[evenhand's self-check](../explanation/likelihoods.md#the-prefix-tree) tests every model when it is loaded.",
        "Masked models (BERT, RoBERTa, ALBERT, DeBERTa, ...) are not included, because their "
        "[pseudo-likelihoods](../explanation/likelihoods.md#masked-models) are plain forward passes over masked texts. "
        "The rows `bert`, `roberta`, `electra` and similar are the left-to-right versions of these classes, which need "
        "`is_decoder` in the configuration.",
    ]
    differences = (
        "If `generate` differs from plain passes, a cache of transformers is faulty, or `generate` gives the model "
        "other inputs than a plain pass (the start positions of RoBERTa, the mask token of XLM). evenhand then writes "
        "what plain passes predict. With beam search, `generate` also differs for RecurrentGemma: this model keeps its "
        "states in its layers, and `generate` does not reorder them with the beams. evenhand's beams equal those of "
        "plain passes."
    )
    columns = [
        "| column | meaning |",
        "|---|---|",
        "| scoring | how evenhand computes likelihoods; the method agreed with plain passes (one text at a time) |",
        "| off | largest difference of a log-likelihood from that of plain passes, in nats per token |",
        "| writing | what is stored from one generated token to the next. *Keys and values*: evenhand's own buffers, "
        "many prompts in parallel. "
        "*The cache that transformers makes*: prompts of equal length in parallel. *No cache*: the whole text is read "
        "again for each token, which is slow |",
        "| equal | how many greedy continuations by evenhand equal those of plain passes, token by token |",
        "| generate | how many by `model.generate` do, or the error that it raises |",
    ]
    lines = [
        "<!-- Written by perf/architectures.py: run it again rather than edit this page. -->",
        "# Which architectures work",
        "",
    ]
    for paragraph in text:
        lines += [textwrap.fill(paragraph, 128, break_on_hyphens=False), ""]
    lines += [*columns, "", textwrap.fill(differences, 128, break_on_hyphens=False), ""]
    for kind, title in (("causal", "Left-to-right models"), ("encoder-decoder", "Encoder-decoder models")):
        lines += [
            f"## {title}",
            "",
            "| `model_type` | scoring | off | writing | equal | generate |",
            "|---|---|---|---|---|---|",
        ]
        for row in rows:
            if row.kind == kind:
                scoring, writing = (cell.partition(": ")[0] for cell in (row.scoring, row.writing))
                off = "" if row.off is None else f"{row.off:.0e}"
                equal = "" if row.equal is None else f"{row.equal[0]} of {row.equal[1]}"
                lines.append(
                    f"| {row.architecture} | {scoring} | {off} | {writing} | {equal} | {row.theirs} |"
                )
        reasons = [
            f"- **{row.architecture}** is {cell}"
            for row in rows
            for cell in dict.fromkeys((row.scoring, row.writing))
            if row.kind == kind and cell.startswith("refused: ")
        ]
        lines += ["", *reasons, ""] if reasons else [""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="architectures, separated by commas; nothing is written")
    parser.add_argument("--output", type=Path, default=PAGE)
    given = parser.parse_args()
    only = None if given.only is None else set(given.only.split(","))
    began, rows = time.perf_counter(), []
    for row in measured_all(lambda name: only is None or name in only):
        rows.append(row)
        off = "" if row.off is None else f"{row.off:.1e}"
        mark = "" if row.is_right else "   WRONG"
        print(
            f"{row.architecture:22s}{row.scoring[:90]:28s}{off:>9s}  {row.writing[:90]:44s}{row.equal or ''} "
            f"{row.theirs}{mark}",
            flush=True,
        )
    print(f"{len(rows)} architectures in {time.perf_counter() - began:.0f} s")
    if only is None:
        given.output.write_text(page(rows), encoding="utf-8")
        print(f"written to {given.output}")
    if not all(row.is_right for row in rows):
        sys.exit("some answers are wrong")


if __name__ == "__main__":
    main()
