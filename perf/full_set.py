"""Measure the time of the full HolisticBias v1.1 Likelihood Bias, and its growth with the size of the
set.

    python perf/full_set.py --data FOLDER       # About 12 minutes on 2 cores; FOLDER as for `evenhand data fetch`.
    python perf/full_set.py --shares 0.01 0.02  # A quick look.

`evenhand audit MODEL --benchmark holisticbias-likelihood` as a user calls it, from an empty run folder to the
report, on 10, 25, 50 and 100 % of the 549,120 sentences. Wall-clock time and memory are of the whole
process, including the start of Python. Stages are read from the run's manifest; the rest is loading, composing,
planning and the report. Times depend on the machine; only the growth carries over.
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

BENCHMARK = "holisticbias-likelihood"
SENTENCES = 549_120


def audited(model, data, limit, folder):
    """Return the wall-clock and processor seconds of one audit, its peak memory, and the stages of its manifest."""
    run = Path(folder) / "run"
    command = [
        sys.executable,
        "-m",
        "evenhand",
        "audit",
        model,
        "--benchmark",
        BENCHMARK,
        "--output",
        str(run),
    ]
    if data is not None:
        command += ["--set", f"data.holisticbias={data}"]
    if limit < SENTENCES:
        command += ["--limit", str(limit)]
    told = Path(folder) / "told.txt"
    with told.open("wb") as handle:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=handle, stderr=subprocess.STDOUT)
        # wait4 and not wait: memory of this child alone, not the most of all children so far
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{told.read_text()[-3000:]}")
    manifest = json.loads((run / "manifest.json").read_text())
    prompts = manifest["prompt_sets"][BENCHMARK]["rows"]
    stages = dict(manifest["timings"])
    stages["rest"] = wall - sum(stages.values())
    description = manifest["model"]["description"]
    return {
        "sentences": prompts,
        "requests": manifest["requests"],
        "errors": sum(manifest["errors"].values()),
        "seconds": wall,
        "processor_seconds": usage.ru_utime + usage.ru_stime,
        "sentences_per_second": prompts / wall,
        "peak_megabytes": usage.ru_maxrss / (1 << (20 if sys.platform == "darwin" else 10)),
        "stages": stages,
        "tokens_given": description.get("tokens_given"),
        "tokens_run": description.get("batches", {}).get("tokens_run"),
        "scoring": description.get("scoring"),
        "report_bytes": (run / "report.html").stat().st_size,
        "run_bytes": sum(path.stat().st_size for path in run.rglob("*") if path.is_file()),
    }


def growth(rows):
    """Return the exponent with which each stage grows with the number of sentences, from the smallest part to the
    largest."""
    first, last = rows[0], rows[-1]
    scale = math.log(last["sentences"] / first["sentences"])
    stages = {"all": "seconds", "processor": "processor_seconds", "memory": "peak_megabytes"}
    powers = {name: math.log(last[key] / first[key]) / scale for name, key in stages.items()}
    for name, seconds in last["stages"].items():
        powers[name] = math.log(seconds / first["stages"][name]) / scale
    return powers


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="evenhand/reference", help="any model that evenhand can load")
    parser.add_argument("--data", type=Path, help="folder of HolisticBias v1.1 (else the cache)")
    parser.add_argument(
        "--shares", type=float, nargs="+", default=[0.1, 0.25, 0.5, 1.0], help="parts of the set"
    )
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "full_set.json")
    given = parser.parse_args()

    rows = []
    print(f"{given.model}, {BENCHMARK}")
    print(f"{'sentences':>10s}{'wall s':>9s}{'cpu s':>8s}{'per s':>8s}{'peak MB':>9s}   stages")
    for share in sorted(given.shares):
        with tempfile.TemporaryDirectory() as folder:
            row = audited(given.model, given.data, max(1, round(SENTENCES * share)), folder)
        rows.append(row)
        stages = "  ".join(f"{name} {seconds:.1f}" for name, seconds in row["stages"].items())
        print(
            f"{row['sentences']:10,d}{row['seconds']:9.1f}{row['processor_seconds']:8.1f}"
            f"{row['sentences_per_second']:8,.0f}{row['peak_megabytes']:9,.0f}   {stages}",
            flush=True,
        )
    powers = growth(rows) if len(rows) > 1 else {}
    if powers:
        told = ", ".join(f"{name} {power:.2f}" for name, power in powers.items())
        print(f"\ngrows as sentences to the power: {told}   (1 is proportional)")
    last = rows[-1]
    if last["tokens_given"]:
        print(f"tokens given {last['tokens_given']:,}, run {last['tokens_run']:,}; {last['scoring']}")
    given.output.parent.mkdir(parents=True, exist_ok=True)
    facts = {"model": given.model, "benchmark": BENCHMARK, "rows": rows, "growth_powers": powers}
    facts |= {"machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
    given.output.write_text(json.dumps(facts, indent=1) + "\n")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
