"""Measure the cost of everything except the model, with models that cost nothing: evenhand and lm_eval in one run.

    python perf/overhead.py --data FOLDER       # About 4 minutes on 2 cores; FOLDER as for `evenhand data fetch`.

All 566,625 sentences of HolisticBias v1.1 go through plan, engine (shards and all), measures and report. The
measures rest on the 549,120 rows of the published Likelihood Bias, as `holisticbias-likelihood` always does;
the other 17,505 (no noun, or a gendered descriptor) are asked and recorded only. Two puppets answer: one gives
every word the same value, one a value drawn from the text, so that ties spare the measures no work, or make it.
lm_eval's `evaluate` runs a subset of the same sentences as documents of `loglikelihood_rolling`, with an LM that
returns a constant: as it comes (samples logged, 100,000 bootstrap samples), and at its leanest (neither). Its
index of shipped tasks, some ten seconds at every start of its command, is left out in its favour. Each measurement
is a separate process, the best of `--repeats`; imports are reported separately. Only ratios are meaningful, because
times depend on the machine.
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from pathlib import Path

from common import measured_process, peak_megabytes, published_sentences

CONSTANT = -10.0  # what the idle models answer: any finite number does


class Stopwatch:
    """Seconds of wall and processor by stage."""

    def __init__(self):
        self.wall, self.processor = {}, {}
        self._last = time.perf_counter(), time.process_time()

    def lap(self, stage):
        now = time.perf_counter(), time.process_time()
        self.wall[stage], self.processor[stage] = (b - a for a, b in zip(self._last, now, strict=True))
        self._last = time.perf_counter(), time.process_time()

    def result(self, documents, **more):
        work = [stage for stage in self.wall if stage != "imports"]
        seconds = sum(self.wall[stage] for stage in work)
        return {
            "documents": documents,
            "seconds": seconds,
            "processor_seconds": sum(self.processor[stage] for stage in work),
            "documents_per_second": documents / seconds,
            "stages": self.wall,
            "peak_megabytes": peak_megabytes(),
            **more,
        }


def idle_puppet(kind):
    """A model without weights: `uniform`, or `varied`, whose values are a hash of the text."""
    import numpy as np
    import polars as pl

    from evenhand.models.puppets import Puppet, load_puppet

    if kind == "uniform":
        return load_puppet("puppet/uniform")

    def drawn(texts):
        return pl.Series(texts).hash(seed=0).to_numpy() / 2.0**64 * 2 - 3  # nats a word, between -3 and -1

    return Puppet("puppet/varied", lambda texts: drawn(texts).astype(np.float32))


def evenhand_worker(kind, data):
    watch = Stopwatch()
    import polars as pl

    from evenhand.benchmarks.contract import AnalysisOptions
    from evenhand.benchmarks.registry import load_benchmark
    from evenhand.runs import PlanPart, PromptSetRecord, RunDirectory, answers, execute, make_plan
    from evenhand.schema import measurement_frame
    from evenhand.stats import reach_verdicts
    from evenhand.studies.audit.result import Run

    benchmark, model = load_benchmark("holisticbias-likelihood"), idle_puppet(kind)
    watch.lap("imports")

    published = published_sentences(data)
    prompts = published.prompt_set()
    wanted = published.likelihood_subset().prompt_set().frame.select("prompt_id")
    content_hash = prompts.content_hash
    watch.lap("compose")

    plan = make_plan(
        [PlanPart(benchmark.name, prompts.frame, benchmark.request_for(model))], model.fingerprint
    )
    watch.lap("plan")

    with tempfile.TemporaryDirectory() as folder:
        directory = RunDirectory.create(
            Path(folder) / "run",
            model=model,
            given={},
            resolved={"model": model.name},
            prompt_sets={benchmark.name: PromptSetRecord(content_hash=content_hash, rows=len(prompts))},
        )
        outcome = execute(plan, model, directory)
        watch.lap("engine")

        rows = answers(directory, benchmark.name).join(
            wanted, on="prompt_id", how="semi", maintain_order="left"
        )
        analysis = benchmark.analyse(rows, AnalysisOptions())
        measurements = measurement_frame(analysis.measurements).with_columns(benchmark=pl.lit(benchmark.name))
        measurements, findings = reach_verdicts(measurements, alpha=0.05, harmful=benchmark.harmful)
        directory.write_details(benchmark.name, analysis.details)
        directory.write_measurements(measurements)
        directory.write_findings(findings)
        watch.lap("measures")

        Run(directory, outcome).report()
        watch.lap("report")
        size = sum(path.stat().st_size for path in directory.path.rglob("*") if path.is_file())
    return watch.result(
        len(prompts),
        requests=outcome.requests,
        answered=outcome.answered,
        measured=rows.height,
        measurements=measurements.height,
        megabytes_on_disk=size / 1e6,
    )


def lm_eval_worker(lean, data, documents):
    watch = Stopwatch()
    import datasets
    from lm_eval.api.model import LM
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.evaluator import evaluate

    class Idle(LM):
        def loglikelihood(self, requests):
            return [(CONSTANT, False)] * len(requests)

        def loglikelihood_rolling(self, requests):
            return [CONSTANT] * len(requests)

        def generate_until(self, requests):
            return [""] * len(requests)

    datasets.disable_progress_bars()
    watch.lap("imports")

    texts = published_sentences(data).texts()
    # spread over the set, so that the subset is as long and as varied as the whole
    texts = texts.gather_every(max(1, len(texts) // documents))[:documents].to_list()
    watch.lap("compose")

    task = ConfigurableTask(
        config={
            "task": "holisticbias_rolling",
            "custom_dataset": lambda **_: {"test": datasets.Dataset.from_dict({"text": texts})},
            "test_split": "test",
            "output_type": "loglikelihood_rolling",
            "doc_to_text": "",
            "doc_to_target": "{{text}}",
            "metric_list": [
                {"metric": name} for name in ("word_perplexity", "byte_perplexity", "bits_per_byte")
            ],
        }
    )
    watch.lap("plan")

    options = {"bootstrap_iters": 0, "log_samples": False} if lean else {}
    found = evaluate(Idle(), {"holisticbias_rolling": task}, **options)
    if found["n-samples"]["holisticbias_rolling"]["effective"] != len(texts):
        sys.exit(f"lm_eval evaluated {found['n-samples']} of {len(texts)} documents")
    watch.lap("evaluate")
    return watch.result(len(texts))


def ways(subset):
    yield "evenhand, uniform puppet", ["evenhand", "uniform"]
    yield "evenhand, varied puppet", ["evenhand", "varied"]
    yield "lm_eval, as it comes", ["lm_eval", "default", str(subset)]
    yield "lm_eval, leanest", ["lm_eval", "lean", str(subset)]
    yield "lm_eval, leanest, a quarter", ["lm_eval", "lean", str(subset // 4)]


def show(best):
    ours = best["evenhand, varied puppet"]
    print(
        f"\n{'':30s}{'documents':>10s}{'wall s':>8s}{'cpu s':>8s}{'per second':>12s}{'peak MB':>9s}"
        f"{'times slower: wall':>20s}{'cpu':>8s}"
    )
    for way, row in best.items():
        wall = ours["documents_per_second"] / row["documents_per_second"]
        row["evenhand_is_faster_by"] = wall
        # on a busy machine the clock also measures the neighbours; the processor's time does not
        row["evenhand_is_faster_by_processor"] = processor = (
            row["processor_seconds"] / row["documents"] / (ours["processor_seconds"] / ours["documents"])
        )
        print(
            f"{way:30s}{row['documents']:10,d}{row['seconds']:8.1f}{row['processor_seconds']:8.1f}"
            f"{row['documents_per_second']:12,.0f}{row['peak_megabytes']:9,.0f}{wall:20.1f}{processor:8.1f}"
        )
    print("\nSeconds by stage (imports are not in the sums above):")
    for way, row in best.items():
        stages = "  ".join(f"{stage} {seconds:.2f}" for stage, seconds in row["stages"].items())
        print(f"{way:30s}{stages}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of HolisticBias v1.1 (else the cache)")
    parser.add_argument("--subset", type=int, default=20_000, help="documents for lm_eval")
    parser.add_argument("--repeats", type=int, default=2, help="number of runs, of which the best counts")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "overhead.json")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        who, kind, *rest = given.worker
        if who == "evenhand":
            found = evenhand_worker(kind, given.data)
        else:
            found = lm_eval_worker(kind == "lean", given.data, int(rest[0]))
        given.output.write_text(json.dumps(found))
        return

    best = {}
    for _ in range(given.repeats):  # in turn, so that a busy minute hits all alike
        for way, worker in ways(given.subset):
            found = measured_process(Path(__file__), given.data, worker)
            print(f"{way:30s}{found['seconds']:8.1f} s", flush=True)
            if way not in best or found["seconds"] < best[way]["seconds"]:
                best[way] = found
    show(best)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    facts = {
        "rows": best,
        "repeats": given.repeats,
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    given.output.write_text(json.dumps(facts, indent=1) + "\n")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
