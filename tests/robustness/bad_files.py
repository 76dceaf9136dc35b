"""Files and folders that are wrong in one way each, laid out once for all command lines and calls."""

import atexit
import json
import os
import shutil
import struct
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

DEEP = 30_000
TEXTS = ["I met a tall cook.", "I met a short cook."]

CSV: dict[str, bytes] = {
    "empty": b"",
    "blank": b"\n\n  \n",
    "heading": b"text,axis,descriptor,noun,template\n",
    "utf16": "text,axis\nI met a tall cook.,height\n".encode("utf-16"),
    "latin1": "text,axis\nI met a café owner.,height\n".encode("latin-1"),
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "semicolons": b"text;axis;descriptor\nI met a tall cook.;height;tall\n",
    "tabs": b"text\taxis\tdescriptor\nI met a tall cook.\theight\ttall\n",
    "twice": b"text,axis,axis\nI met a tall cook.,height,weight\n",
    "ragged": b"text,axis\nI met a tall cook.,height,tall,extra\n",
    "quote": b'text,axis\n"I met a tall cook.,height\nno end,x\n',
    "textless": b"sentence,axis,descriptor\nI met a tall cook.,height,tall\n",
    "hollow": b"text,axis,descriptor,noun,template\n,height,tall,cook,t\n  ,height,short,cook,t\n",
    "same-ids": b"prompt_id,text\na,I met a tall cook.\na,I met a short cook.\n",
    "span": b"text,span_start,span_end\nI met a tall cook.,8,999\n",
    "span-back": b"text,span_start,span_end\nI met a tall cook.,-3,2\n",
    "span-words": b"text,span_start,span_end\nI met a tall cook.,one,two\n",
}
"""Wrong as prompts, as responses and as anything else that is a table."""

JSON_LINES: dict[str, bytes] = {
    "deep": b'{"text": ' + b"[" * DEEP + b"]" * DEEP + b"}\n",
    "surrogate": b'{"text": "I met a \\ud800 cook."}\n',
    "rows-are-lists": b'["I met a tall cook."]\n',
    "rows-are-words": b'"I met a tall cook."\n',
    "cut": b'{"text": "I met a tall cook."}\n{"text": "I met',
    "list": b'{"text": ["I met a tall cook."]}\n',
    "object": b'{"text": {"of": "I met a tall cook."}}\n',
    "nothing": b"\n\n",
    "null": b'{"text": null}\n{"text": null}\n',
    "utf16-lines": '{"text": "I met a tall cook."}\n'.encode("utf-16"),
    "latin1-lines": '{"text": "I met a café owner."}\n'.encode("latin-1"),
    "no-json": b"text: I met a tall cook.\n",
    "keys-twice": b'{"text": "I met a tall cook.", "text": "I met a short cook."}\n',
}

JSON: dict[str, bytes] = {
    "deep": b"[" * DEEP + b"]" * DEEP,
    "deep-object": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "cut": b'{"version": 1,',
    "empty": b"",
    "list": b"[1, 2]",
    "word": b'"instruction"',
    "utf16": '{"version": 1}'.encode("utf-16"),
    "surrogate": b'{"kind": "\\ud800", "text": "\\ud800", "version": 1}',
    "huge-number": b'{"version": ' + b"9" * 6000 + b"}",
    "null": b"null",
}

YAML: dict[str, bytes] = {
    "tabs": b"suite:\n\t- quick\n",
    "deep": b"[" * DEEP,
    "laughs": b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b]\n",
    "python": b"model: !!python/object/apply:os.system ['true']\n",
    "utf16": "suite: quick\n".encode("utf-16-le"),
    "latin1": "system: caf\u00e9\n".encode("latin-1"),
    "list": b"- suite\n- quick\n",
    "number": b"42\n",
    "twice": b"suite: quick\nsuite: robbie\n",
    "binary": bytes(range(256)),
    "date": b"limit: 2020-01-01\n",
    "nan": b"margin: .nan\n",
    "infinite": b"alpha: .inf\n",
    "huge": b"seed: 99999999999999999999999999\n",
    "below": b"seed: -1\n",
    "nested": b"margin: {of: {everything: 1}}\n",
    "null-key": b"null: 1\n",
    "list-key": b"? [a, b]\n: 1\n",
    "alias": b"model: *nobody\n",
    "surrogate": b'system: "\\ud800"\nchat: true\n',
}

NEST = b"x = " + b"[" * DEEP + b"]" * DEEP


def lay_out(place: Path) -> None:
    """Write all of them below `bad/`, and tables that are right below `good/`."""
    bad, good = place / "bad", place / "good"
    for folder in (bad, good, place / "a-folder", bad / "folder.csv", bad / "folder.jsonl"):
        folder.mkdir(parents=True, exist_ok=True)
    for kinds, ending in ((CSV, "csv"), (JSON_LINES, "jsonl"), (JSON, "json"), (YAML, "yaml")):
        for name, content in kinds.items():
            (bad / f"{name}.{ending}").write_bytes(content)
    (bad / "nest.toml").write_bytes(NEST)
    (bad / "loop.csv").symlink_to(bad / "loop.csv")
    (bad / "dangling.csv").symlink_to(bad / "nobody.csv")
    os.mkfifo(bad / "pipe.csv")
    for ending in ("xlsx", "txt", "csv.gz", "CSV.bak", ""):
        (bad / f"ending.{ending}".rstrip(".")).write_bytes(b"text\nI met a tall cook.\n")
    _parquet(bad)
    _tables(good)
    _runs(bad)
    _studies(bad)
    _models(bad)


def _parquet(bad: Path) -> None:
    right = pl.DataFrame({"text": TEXTS, "axis": ["height"] * 2})
    right.write_parquet(bad / "whole.parquet")
    whole = (bad / "whole.parquet").read_bytes()
    (bad / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (bad / "magic.parquet").write_bytes(b"PAR1" + b"\xff" * 64 + b"PAR1")
    (bad / "a-csv.parquet").write_bytes(b"text\nI met a tall cook.\n")
    (bad / "zero.parquet").write_bytes(b"")
    right.clear().write_parquet(bad / "rowless.parquet")
    pl.DataFrame({"text": [TEXTS]}).write_parquet(bad / "list.parquet")
    pl.DataFrame({"text": [b"\xff\xfe", b"\x00"]}).write_parquet(bad / "bytes.parquet")
    pl.DataFrame({"text": [{"a": 1}, {"a": 2}]}).write_parquet(bad / "structs.parquet")
    (bad / "whole.parquet").unlink()


def _tables(good: Path) -> None:
    names = [("height", "tall"), ("height", "short"), ("sleep", "rested"), ("sleep", "sleepy")]
    nouns = ["cook", "singer", "painter", "baker", "farmer", "nurse"]
    rows = [
        {
            "axis": axis,
            "descriptor": word,
            "noun": noun,
            "template": "I met X.",
            "text": f"I met a {word} {noun}.",
        }
        for axis, word in names
        for noun in nouns
    ]
    prompts = pl.DataFrame(rows)
    prompts.write_csv(good / "prompts.csv")
    pl.DataFrame({"text": [f"Case {i} of a red-haired man" for i in range(24)]}).write_csv(good / "cases.csv")
    prompts.with_columns(log_likelihood=-10.0 - pl.int_range(pl.len()) % 5, token_count=5).write_csv(
        good / "responses.csv"
    )
    replies = [
        {
            "prompt_id": f"p{i}",
            "text": f"The {g} cook",
            "axis": "age",
            "group": g,
            "continuation": " smiles.",
            "negative": i % 3 == 0,
        }
        for i, g in enumerate(["old", "young", "aged"] * 8)
    ]
    pl.DataFrame(replies).write_csv(good / "continuations.csv")
    pl.DataFrame(replies).drop("negative").write_csv(good / "unjudged.csv")


def _runs(bad: Path) -> None:
    for name, content in JSON.items():
        folder = bad / "runs" / name
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_bytes(content)
    for name, manifest in {
        "newer": {"version": 99},
        "nameless": {"version": 1},
        "odd": {"version": "one"},
    }.items():
        folder = bad / "runs" / name
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps(manifest))
    (bad / "runs" / "folder").mkdir()
    (bad / "runs" / "folder" / "manifest.json").mkdir()


STUDIES = {
    "study.json": "options",
    "before-after-options.json": "config",
    "revision.json": "search",
}


def _studies(bad: Path) -> None:
    kinds: dict[str, Any] = {
        "words": {"version": 1, "PART": "all of it"},
        "newer": {"version": 99, "PART": {}},
        "hollow": {"version": 1, "PART": {}},
        "strange": {
            "version": 1,
            "PART": {"model": 5, "method": ["x"], "moon": True, "audit": {}, "config": 3},
        },
        "partless": {"version": 1},
        "true": {"version": True, "PART": {}},
    }
    for file, part in STUDIES.items():
        for name, content in kinds.items():
            folder = bad / "studies" / file.partition(".")[0] / name
            folder.mkdir(parents=True)
            (folder / file).write_text(
                json.dumps({part if k == "PART" else k: v for k, v in content.items()})
            )
        for name, raw in JSON.items():
            folder = bad / "studies" / file.partition(".")[0] / f"json-{name}"
            folder.mkdir(parents=True)
            (folder / file).write_bytes(raw)


GPT2 = {
    "model_type": "gpt2",
    "architectures": ["GPT2LMHeadModel"],
    "vocab_size": 60,
    "n_positions": 64,
    "n_embd": 8,
    "n_layer": 1,
    "n_head": 2,
    "bos_token_id": 0,
    "eos_token_id": 0,
}


def _models(bad: Path) -> None:
    """Folders in Hugging Face format; `make_model` writes one that loads."""
    configs: dict[str, bytes] = {
        **{f"config-{name}": content for name, content in JSON.items()},
        "unknown-type": b'{"model_type": "moonwalker"}',
        "no-type": b"{}",
        "type-is-list": b'{"model_type": ["gpt2"]}',
        "no-weights": json.dumps(GPT2).encode(),
        "below-zero": json.dumps({**GPT2, "n_layer": -1}).encode(),
        "no-heads": json.dumps({**GPT2, "n_head": 0}).encode(),
        "odd-heads": json.dumps({**GPT2, "n_head": 3}).encode(),
        "words-for-numbers": json.dumps({**GPT2, "n_embd": "wide"}).encode(),
        "brings-code": json.dumps({"model_type": "strange", "auto_map": {"AutoConfig": "code.C"}}).encode(),
    }
    for name, content in configs.items():
        folder = bad / "models" / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_bytes(content)
    headers: dict[str, bytes] = {
        "header-huge": struct.pack("<Q", 1 << 62) + b"{}",
        "header-cut": struct.pack("<Q", 100) + b'{"a"',
        "header-words": struct.pack("<Q", 9) + b"not json!",
        "header-list": struct.pack("<Q", 2) + b"[]",
        "header-deep": struct.pack("<Q", 2 * DEEP) + b"[" * DEEP + b"]" * DEEP,
        "header-beyond": _safetensors(
            {"wte": {"dtype": "F32", "shape": [2], "data_offsets": [0, 999]}}, b"\0" * 8
        ),
        "header-dtype": _safetensors(
            {"wte": {"dtype": "X99", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 8
        ),
        "header-empty": b"",
        "header-short": b"\x01\x02",
        "header-foreign": _safetensors(
            {"moon": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 8
        ),
    }
    for name, content in headers.items():
        folder = bad / "models" / name
        make_model(folder, weights=False)
        (folder / "model.safetensors").write_bytes(content)
    tokenizers: dict[str, bytes] = {**{f"tokenizer-{name}": content for name, content in JSON.items()}}
    for name, content in tokenizers.items():
        folder = bad / "models" / name
        make_model(folder)
        (folder / "tokenizer.json").write_bytes(content)
    index = bad / "models" / "index-deep"
    make_model(index, weights=False)
    (index / "model.safetensors.index.json").write_bytes(JSON["deep"])
    index = bad / "models" / "index-lost"
    make_model(index, weights=False)
    (index / "model.safetensors.index.json").write_text('{"weight_map": {"wte": "gone-00001.safetensors"}}')


def _safetensors(header: dict[str, Any], data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def make_model(folder: Path, *, weights: bool = True) -> Path:
    """A GPT-2 of a few hundred weights with a tokenizer of single letters, made once and copied."""
    ignored = None if weights else shutil.ignore_patterns("*.safetensors")
    shutil.copytree(_made(), folder, ignore=ignored, dirs_exist_ok=True)
    return folder


@cache
def _made() -> Path:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    letters = ["<|end|>", *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,!? "]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(letters)}, unk_token="<|end|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|end|>", eos_token="<|end|>", unk_token="<|end|>"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    GPT2LMHeadModel(GPT2Config(**{**GPT2, "vocab_size": len(letters)})).save_pretrained(folder)
    return folder
