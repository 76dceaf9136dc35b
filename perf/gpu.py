"""Compare every hot path on an accelerator with the processor: numbers, speed and memory.

    python perf/gpu.py                       # Unattended, no network; about half an hour on a large card.
    python perf/gpu.py --model ~/gpt2 --model ~/llama   # Folders with weights, in addition to the built-in shapes.
    python perf/gpu.py --device cpu          # The same on small shapes where there is no accelerator.

Parts: scoring (with the prefix tree, and in padded batches), generation (greedy, and sampled), self-debiasing, and
labels of a classifier. Each runs in float32 and bfloat16 and with several batch sizes. Each is a separate process, so a
job that fails, hangs or runs out of memory is one line of the table and the others continue. The exit code is then 1.
Models have GPT-2's shape and random weights. Their token embeddings are scaled so that next-token distributions are
about as peaked as those of a trained model (otherwise greedy texts would diverge at unrealistic ties).

The reference is the processor in float32, on the first --compared texts. Three results are compared with it.
The log-likelihood of every sentence (nats per token) may differ by at most --noise-float32 or --noise-bfloat16. The
share of equal greedy continuations must be at least --alike-float32; for bfloat16 it is only reported, because one
near-tie decides the rest of a text. The third is the probabilities of the classifier's labels. Tokens per second
exclude padding.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command line sets it
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is fetched
from common import model_with_tokenizer, peak_megabytes

GPT2 = 50257
SHAPES = {
    "2x64": {"layers": 2, "width": 64, "heads": 2, "vocabulary": 2048},
    "4x256": {"layers": 4, "width": 256, "heads": 4, "vocabulary": 4096},
    "GPT-2 small": {"layers": 12, "width": 768, "heads": 12, "vocabulary": GPT2},
    "GPT-2 medium": {"layers": 24, "width": 1024, "heads": 16, "vocabulary": GPT2},
    "GPT-2 XL": {"layers": 48, "width": 1600, "heads": 25, "vocabulary": GPT2},
}
LARGE, SMALL = ["GPT-2 small", "GPT-2 medium", "GPT-2 XL"], ["2x64", "4x256"]
DECIDED = 5.0
"""Times GPT-2's initial token embeddings: logits then spread by some 3 nats, as those of trained models do."""
PARTS = ("scoring", "writing", "self-debiasing")
NEW = 20
PROMPT_WORDS = 5


def sentences(count, seed=0):
    """Our own sentences, all of some descriptors, as an audit with a limit asks them."""
    from evenhand.prompts.language import compose

    frame = compose()
    groups = frame.filter(frame["axis"] != "none").partition_by("axis", "descriptor", maintain_order=True)
    chosen = []
    for i in np.random.default_rng(seed).permutation(len(groups)):
        chosen += groups[i]["text"].to_list()
        if len(chosen) >= count:
            break
    return chosen[:count]


def beginnings(texts, count):
    """Distinct prompts: the first words of sentences."""
    return list(dict.fromkeys(" ".join(text.split()[:PROMPT_WORDS]) for text in texts))[:count]


def make_model(folder, shape):
    import torch

    model, tokenizer = model_with_tokenizer(sentences(20_000, seed=1), **SHAPES[shape])
    with torch.no_grad():
        model.transformer.wte.weight.mul_(DECIDED)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_classifier(folder, large):
    """A classifier of RoBERTa's shape with random weights and three labels."""
    import torch
    from transformers import RobertaConfig, RobertaForSequenceClassification

    _, tokenizer = model_with_tokenizer(sentences(20_000, seed=1), 1, 8, 1, GPT2 if large else 4096)
    layers, width = (12, 768) if large else (2, 128)
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=GPT2 if large else 4096,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
        max_position_embeddings=514,
        pad_token_id=tokenizer.pad_token_id,
        num_labels=3,
        initializer_range=0.05,
    )
    RobertaForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer.model_max_length = 512
    tokenizer.save_pretrained(folder)


def own_peak_megabytes():
    """Return the peak memory of this process so far; on Linux `ru_maxrss` starts with the value of the parent
    process."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    peak = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), None)
    return peak_megabytes() if peak is None else int(peak) / 1024


class Meter:
    """Seconds and the most memory of what is done inside; the first call of anything is made before."""

    def __init__(self, device):
        import torch

        self._torch, self._device = torch, torch.device(device)

    def __enter__(self):
        self._settle()
        if self._device.type == "cuda":
            self._torch.cuda.reset_peak_memory_stats(self._device)
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_):
        self._settle()
        self.seconds = time.perf_counter() - self._began
        match self._device.type:
            case "cuda":
                self.megabytes = self._torch.cuda.max_memory_allocated(self._device) / 1e6
            case "mps":
                self.megabytes = self._torch.mps.driver_allocated_memory() / 1e6
            case _:
                self.megabytes = own_peak_megabytes()

    def _settle(self):
        if self._device.type == "cuda":
            self._torch.cuda.synchronize(self._device)
        elif self._device.type == "mps":
            self._torch.mps.synchronize()


def loaded(job, batch=None):
    from evenhand.models import load_model

    return load_model(job["model"], device=job["device"], dtype=job["dtype"], batch_tokens=batch)


def scoring(job):
    """Rows, one for each path and size of batches; the sums of the compared texts are kept."""
    from evenhand.models.scoring.scorer import ScoringPath

    texts, rows = sentences(job["sentences"]), []
    for batch in job["batches"]:
        for path in (ScoringPath.PREFIX_TREE, ScoringPath.PADDED):
            model = loaded(job, batch)
            if path is ScoringPath.PREFIX_TREE and model.path is not path:
                rows.append({"way": str(path), "batch": batch, "told": f"not taken: {model.rejected_paths}"})
                continue
            model.scorer.path = path
            model.log_likelihoods(texts[:8])
            with Meter(job["device"]) as meter:
                found = model.log_likelihoods(texts)
            tokens = np.diff(found.offsets)
            rows.append(
                measured(str(path), batch, meter, int(tokens.sum()), len(texts))
                | {
                    "sums": found.sums[: job["compared"]].tolist(),
                    "lengths": tokens[: job["compared"]].tolist(),
                }
                | {"halvings": list(model.scorer.budget.halvings)}
            )
    return rows


def written(job, debiased):
    """Rows, greedy (compared) and drawn (timed)."""
    from evenhand.mitigations.steering.self_debiasing import PREFIXES, SelfDebiasing
    from evenhand.models.decoding import Decoding

    prompts, rows = beginnings(sentences(20_000), job["prompts"]), []
    ways = {"greedy": Decoding(max_new_tokens=NEW)}
    if not debiased:
        ways["drawn"] = Decoding(max_new_tokens=NEW, temperature=0.7, top_k=40, samples=4)
    for batch in job["batches"]:
        model = loaded(job, batch)
        writer = SelfDebiasing(prefixes=PREFIXES["published"])(model) if debiased else model
        for way, rule in ways.items():
            writer.generate(prompts[:2], rule)
            with Meter(job["device"]) as meter:
                found = writer.generate(prompts, rule)
            if failed := [error for error in found.errors if error]:
                raise RuntimeError(f"{len(failed)} of {len(found)} continuations failed: {failed[0]}")
            texts = found.texts[: job["compared"]] if way == "greedy" else []
            told = measured(way, batch, meter, int(found.token_count.sum()), len(found))
            rows.append(told | {"texts": texts})
    return rows


def labels(job):
    from evenhand.classifiers import load_classifier

    texts, rows = sentences(job["sentences"], seed=2), []
    for batch in job["batches"]:
        options = {"dtype": job["dtype"], "batch_tokens": batch}
        judge = load_classifier(job["model"], device=job["device"], options=options)
        judge.classify(texts[:8])
        with Meter(job["device"]) as meter:
            found = judge.classify(texts)
        scores = np.asarray(found.scores)[: job["compared"]]
        told = measured("classify", batch, meter, sum(len(text.split()) for text in texts), len(texts))
        rows.append(told | {"scores": scores.tolist()})
    return rows


def measured(way, batch, meter, tokens, answers):
    return {
        "way": way,
        "batch": batch,
        "seconds": round(meter.seconds, 3),
        "tokens_per_second": round(tokens / meter.seconds, 1),
        "answers_per_second": round(answers / meter.seconds, 1),
        "peak_megabytes": round(meter.megabytes),
    }


def work(job):
    match job["part"]:
        case "scoring":
            return scoring(job)
        case "labels":
            return labels(job)
        case part:
            return written(job, part == "self-debiasing")


def in_its_own_process(job, seconds):
    """Return the rows of a job, or one row with the failure if it ends in any other way."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rows.json"
        command = [sys.executable, __file__, "--worker", json.dumps(job), "--output", str(output)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return [{"way": "-", "failed": f"not done after {seconds} s"}]
        if done.returncode or not output.is_file():
            last = done.stderr.strip().splitlines()[-1:] or ["no message"]
            return [{"way": "-", "failed": f"ended with {done.returncode}: {last[0][:300]}"}]
        return json.loads(output.read_text())


def compared(part, row, truth, dtype, given):
    """Compare a row with the reference and return whether it is within the stated noise."""
    noise = given.noise_float32 if dtype == "float32" else given.noise_bfloat16
    if "sums" in row:
        off = np.abs(np.array(row.pop("sums")) - truth["sums"]) / np.maximum(row.pop("lengths"), 1)
        return {"mean_off": float(off.mean()), "most_off": float(off.max()), "fine": bool(off.max() <= noise)}
    if row.get("texts"):
        alike = float(np.mean([a == b for a, b in zip(row.pop("texts"), truth["texts"], strict=True)]))
        return {"alike": alike, "fine": dtype != "float32" or alike >= given.alike_float32}
    if "scores" in row:
        off = np.abs(np.array(row.pop("scores")) - np.array(truth["scores"]))
        return {"mean_off": float(off.mean()), "most_off": float(off.max()), "fine": bool(off.max() <= noise)}
    row.pop("texts", None)
    return {}


def jobs(folder, given, large):
    shapes = given.shape or (LARGE if large else SMALL)
    for shape in shapes:
        made = folder / shape.replace(" ", "-")
        make_model(made, shape)
        for part in PARTS:
            yield shape, part, str(made)
    for named in given.model:
        for part in PARTS:
            yield named.name, part, str(named.resolve())
    judge = folder / "classifier"
    make_classifier(judge, large)
    yield ("RoBERTa-base shape" if large else "2x128"), "labels", str(judge)


def run(folder, given):
    from evenhand.weights.devices import resolve_device

    device = str(resolve_device(given.device))
    large = device != "cpu"
    sizes = {
        "sentences": given.sentences or (20_000 if large else 400),
        "prompts": given.prompts or (256 if large else 16),
        "batches": given.batch_tokens or ([16_384, 65_536, 262_144] if large else [1024, 8192]),
    }
    table = []
    for name, part, model in jobs(folder, given, large):
        count = min(given.compared, sizes["prompts" if part in PARTS[1:] else "sentences"])
        job = {"part": part, "model": model, "compared": count}
        few = {"sentences": count, "prompts": count, "batches": sizes["batches"][:1]}
        truth = in_its_own_process(job | few | {"device": "cpu", "dtype": "float32"}, given.seconds)
        kept = next((row for row in truth if {"sums", "texts", "scores"} & row.keys()), None)
        for dtype in given.dtype:
            if kept is None:
                rows = [{"way": "-", "failed": f"on the processor: {truth[0].get('failed')}"}]
            else:
                rows = in_its_own_process(job | sizes | {"device": device, "dtype": dtype}, given.seconds)
            for row in rows:
                if "failed" not in row and "told" not in row:
                    row |= compared(part, row, kept, dtype, given)
                table.append({"model": name, "part": part, "dtype": dtype, **row})
                print(line_of(table[-1]), flush=True)
    return device, table


COLUMNS = (
    "model",
    "part",
    "dtype",
    "way",
    "batch",
    "tokens/s",
    "answers/s",
    "peak MB",
    "beside the processor",
    "",
)


def cells_of(row):
    start = [
        row["model"],
        row["part"],
        row["dtype"],
        row["way"],
        f"{row['batch']:,}" if "batch" in row else "-",
    ]
    if "failed" in row or "told" in row:
        return [*start, "-", "-", "-", row.get("failed") or row["told"], "FAILED" if "failed" in row else "-"]
    if "alike" in row:
        beside = f"{row['alike']:.1%} written alike"
    elif "most_off" in row:
        unit = "" if row["part"] == "labels" else " nats a token"
        beside = f"off by {row['mean_off']:.1e}, at most {row['most_off']:.1e}{unit}"
    else:
        beside = "timed only"
    speed = [f"{row['tokens_per_second']:,.0f}", f"{row['answers_per_second']:,.0f}"]
    return [*start, *speed, f"{row['peak_megabytes']:,}", beside, "" if row.get("fine", True) else "OUTSIDE"]


def line_of(row):
    widths = (18, 14, 8, 14, 7, 10, 9, 7, 48, 7)
    return " ".join(cell.ljust(width) for cell, width in zip(cells_of(row), widths, strict=True)).rstrip()


def page_of(facts, table):
    lines = [
        "# Hot paths by device",
        "",
        f"`python perf/gpu.py` on {facts['device_name']} ({facts['device']}), torch {facts['torch']}, "
        f"{facts['platform']}. Weights are random; the truth is the processor in float32. Noise allowed: "
        f"{facts['noise_float32']:g} (float32) and {facts['noise_bfloat16']:g} (bfloat16) nats a token or in "
        f"a probability; at least {facts['alike_float32']:.0%} of greedy texts alike in float32.",
        "Words are counted in place of tokens for labels; on the processor the peak is that of the process so far.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|" + "---|" * len(COLUMNS),
    ]
    return "\n".join([*lines, *("| " + " | ".join(cells_of(row)) + " |" for row in table)]) + "\n"


def name_of(device):
    import torch

    return torch.cuda.get_device_name(device) if device.startswith("cuda") else platform.processor() or device


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="auto", help="auto, cuda, cuda:1, mps, or cpu for small shapes")
    parser.add_argument("--model", type=Path, action="append", default=[], help="a folder with weights, too")
    parser.add_argument(
        "--shape", action="append", choices=list(SHAPES), help="only these; default by device"
    )
    parser.add_argument("--dtype", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--sentences", type=int, help="default 20,000, and 400 on the processor")
    parser.add_argument("--prompts", type=int, help="default 256, and 16 on the processor")
    parser.add_argument("--batch-tokens", type=int, nargs="+", help="sizes of batches")
    parser.add_argument("--compared", type=int, default=64, help="texts that the processor does as well")
    parser.add_argument("--noise-float32", type=float, default=1e-3)
    parser.add_argument("--noise-bfloat16", type=float, default=0.1)
    parser.add_argument("--alike-float32", type=float, default=0.9)
    parser.add_argument("--seconds", type=float, default=900.0, help="after which a part counts as failed")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "gpu.json")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker is not None:
        given.output.write_text(json.dumps(work(json.loads(given.worker))))
        return
    import torch
    from transformers.utils import logging

    from evenhand.schema import EvenhandError
    from evenhand.weights.devices import available_devices, resolve_device

    logging.disable_progress_bar()

    if lacking := [str(model) for model in given.model if not (model.expanduser() / "config.json").is_file()]:
        parser.error(f"--model {lacking[0]}: this is not the folder of a model (it has no config.json)")
    try:
        resolve_device(given.device)
    except EvenhandError as error:
        parser.error(f"--device: {' '.join(str(error).split())}")
    if given.device == "auto" and available_devices() == ["cpu"]:
        sys.exit(
            "No accelerator here: nothing was measured. `--device cpu` runs the same parts on small shapes."
        )
    with tempfile.TemporaryDirectory() as folder:
        device, table = run(Path(folder), given)
    facts = {
        "device": device,
        "device_name": name_of(device),
        "torch": torch.__version__,
        "platform": platform.platform(),
        "threads": torch.get_num_threads(),
        **{
            name: getattr(given, name)
            for name in ("noise_float32", "noise_bfloat16", "alike_float32", "compared")
        },
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps({**facts, "rows": table}, indent=1) + "\n")
    page = given.output.with_suffix(".md")
    page.write_text(page_of(facts, table))
    bad = [row for row in table if "failed" in row or not row.get("fine", True)]
    print(
        f"\nwritten to {given.output} and {page}; {len(bad)} of {len(table)} rows failed or outside the noise"
    )
    if bad or not table or any(isinstance(v, float) and math.isnan(v) for row in table for v in row.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
