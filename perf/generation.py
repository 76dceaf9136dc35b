"""Continuations, three ways side by side in one run.

    python perf/generation.py                            # About 5 minutes on one core.
    python perf/generation.py --prompts 200 --device cuda --rows 256

`model.generate` on prompts as they come, in batches; lm_eval's `generate_until` (its Hugging Face backend);
evenhand's engine. Same GPT-2-small-shaped model with random weights, same tokenizer, same HolisticBias v1.1
sentences as prompts, same decoding (temperature 0.7, top-k 40), 4 samples a prompt, same number of rows a
batch at most. Twice: with texts that all run to the limit, and with texts of which one in 15 ends at every
token, as real ones do at their own times. Tokens are counted up to the end token; what a way computes
behind it is its own loss. Needs the HolisticBias v1.1 files: `evenhand data fetch holisticbias`, or --data.
Only ratios mean anything: absolute times are of this machine, this hour. With OMP_NUM_THREADS=1 processor
time is counted.
"""

import argparse
import json
import logging
import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command line sets it; the same for every way
import torch
from common import model_with_tokenizer, sentences_by_descriptor

SAMPLES, TEMPERATURE, TOP_K = 4, 0.7, 40
SHAPE = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257}
END_RATE = 1 / 15


def tokens_until_end(rows, end):
    """Tokens of continuations, the end token included, nothing behind it."""
    return sum(row.index(end) + 1 if end in row else len(row) for row in rows)


def plain_generate(model, tokenizer, rows):
    def run(prompts, new):
        tokenizer.padding_side = "left"
        count = 0
        for first in range(0, len(prompts), rows // SAMPLES):
            batch = tokenizer(prompts[first : first + rows // SAMPLES], return_tensors="pt", padding=True)
            batch = batch.to(model.device)
            with torch.inference_mode():
                written = model.generate(
                    input_ids=batch["input_ids"],
                    attention_mask=batch["attention_mask"],
                    do_sample=True,
                    temperature=TEMPERATURE,
                    top_k=TOP_K,
                    max_new_tokens=new,
                    num_return_sequences=SAMPLES,
                    pad_token_id=tokenizer.pad_token_id,
                )
            continuations = written[:, batch["input_ids"].shape[1] :].tolist()
            count += tokens_until_end(continuations, tokenizer.eos_token_id)
        return count

    return run


def lm_eval_generate(model, tokenizer, rows):
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    class Counted(HFLM):
        """It returns texts; the tokens are counted where they come out of the model."""

        count = 0

        def _model_generate(self, context, *given, **settings):
            written = super()._model_generate(context, *given, **settings)
            continuations = written[:, context.shape[1] :].tolist()
            self.count += tokens_until_end(continuations, tokenizer.eos_token_id)
            return written

    backend = Counted(
        pretrained=model, tokenizer=tokenizer, backend="causal", device=str(model.device), batch_size=rows
    )

    def run(prompts, new):
        told = {"until": [], "do_sample": True, "temperature": TEMPERATURE, "top_k": TOP_K}
        requests = [
            Instance(
                request_type="generate_until", doc={}, arguments=(prompt, told | {"max_gen_toks": new}), idx=i
            )
            for i, prompt in enumerate(prompts)
            for _ in range(SAMPLES)
        ]
        before = backend.count
        backend.generate_until(requests, disable_tqdm=True)
        return backend.count - before

    return run


def ours(model, tokenizer, rows):
    from evenhand.models.decoding import decoding_preset
    from evenhand.models.huggingface.causal import CausalModel

    writer = CausalModel(model, tokenizer, {"name": "perf"})

    def run(prompts, new):
        rule = decoding_preset("gpt2", max_new_tokens=new, samples=SAMPLES)
        assert (rule.temperature, rule.top_k) == (TEMPERATURE, TOP_K)
        writer.writer.budget.tokens = rows * (max(map(len, tokenizer(prompts)["input_ids"])) + new)
        answers = writer.generate(prompts, rule)
        assert not any(answers.errors)
        return int(answers.token_count.sum())

    return run


def let_texts_end(model, prompt_ids):
    """Lift the end token's logit until it is drawn at one token in 15."""
    with torch.inference_mode():
        logits = model(prompt_ids).logits[0, -1].float() / TEMPERATURE
    others = torch.logsumexp(logits.topk(TOP_K - 1).values, dim=0)
    wanted = others + float(np.log(END_RATE / (1 - END_RATE)))
    bias = torch.zeros(logits.shape[0], device=model.device)
    bias[0] = (wanted - logits[0]) * TEMPERATURE
    model.lm_head.bias = torch.nn.Parameter(bias, requires_grad=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prompts", type=int, default=24)
    parser.add_argument("--new", type=int, default=30, help="tokens a continuation at most")
    parser.add_argument("--rows", type=int, default=32, help="continuations a batch at most")
    parser.add_argument("--repeats", type=int, default=2, help="number of runs, of which the best counts")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data", type=Path, help="folder of HolisticBias v1.1 (else the cache)")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "generation.json")
    given = parser.parse_args()
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")  # the two others warn of what does not concern this comparison
    pool = sentences_by_descriptor(given.data, 2000)
    chosen = np.random.default_rng(0).choice(len(pool), given.prompts, replace=False)
    prompts = [pool[i] for i in chosen]
    model, tokenizer = model_with_tokenizer(pool, **SHAPE)
    model = model.to(given.device)
    ways = {"model.generate": plain_generate, "lm_eval generate_until": lm_eval_generate, "evenhand": ours}
    # On one core the time this process computed counts, whatever else the machine does.
    alone = given.device == "cpu" and torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter
    results = []
    for texts in ("run to the limit", "end at their own times"):
        if texts != "run to the limit":
            let_texts_end(model, tokenizer(prompts[:1], return_tensors="pt")["input_ids"].to(model.device))
        runs = {way: prepare(model, tokenizer, given.rows) for way, prepare in ways.items()}
        for run in runs.values():
            run(prompts[:2], 2)  # whatever the first call costs
        speeds = dict.fromkeys(runs, (0, 0.0))
        for _ in range(given.repeats):  # in turn, so that a busy minute of the machine meets all of them
            for way, run in runs.items():
                torch.manual_seed(0)
                start = clock()
                count = run(prompts, given.new)
                speeds[way] = (count, max(speeds[way][1], count / (clock() - start)))
        print(
            f"\ntexts {texts}: {len(prompts)} prompts, {SAMPLES} samples, {torch.get_num_threads()} threads"
        )
        for way, (count, speed) in speeds.items():
            ratio = speeds["evenhand"][1] / speed
            results.append(
                {
                    "texts": texts,
                    "way": way,
                    "tokens": count,
                    "tokens_per_second": round(speed, 1),
                    "evenhand_is_faster_by": round(ratio, 2),
                }
            )
            print(f"  {way:26s}{count:7d} tokens{speed:9.1f}/s   evenhand {ratio:5.2f} x", flush=True)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    told = {
        "prompts": given.prompts,
        "samples": SAMPLES,
        "new_tokens": given.new,
        "rows_a_batch": given.rows,
        "device": given.device,
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "time": "of the process" if alone else "of the clock",
        "torch": torch.__version__,
    }
    given.output.write_text(json.dumps({"rows": results, **told}, indent=1) + "\n")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
