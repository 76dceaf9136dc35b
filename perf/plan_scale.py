"""Calculate time, money and storage for counting terms in a large corpus and for auditing a large model.

    python perf/plan_scale.py                                # Both plans, with every assumption and its source.
    python perf/plan_scale.py --documents 1e9 --cores 512 --json
    python perf/plan_scale.py --measure-sizes ../shared/data # Plan the suites again (needs the data sets); minutes.

Every number that goes in is a flag. Its source is "measured" (by a script of this folder, read from perf/results),
"published" (a paper, a vendor's data sheet, a list price) or "assumed": replace those by what you know. Nothing here
was run on a cluster or a large card. Times hold a tenth of waiting (`--idle`, `--idle-gpus`); add what queues cost you.
"""

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
SIZES = RESULTS / "plan_sizes.json"
HOUR = 3600.0

SHARES = ("idle", "idle-gpus", "sample", "reading-use", "writing-use", "bandwidth-use", "filled", "judge-use")
"""Givens that are shares; nothing is done where all of the time is waited."""


@dataclass(frozen=True)
class Given:
    """A number that goes in: its flag, default, unit, and where the default is from."""

    flag: str
    default: float
    unit: str
    source: str

    @property
    def name(self) -> str:
        return self.flag.replace("-", "_")


def measured(file: str, find: Callable[[dict], float], otherwise: float, script: str) -> tuple[float, str]:
    """A number of perf/results, or an assumption where the script was not run."""
    path = RESULTS / file
    if path.is_file():
        try:
            return float(find(json.loads(path.read_text()))), f"measured: {file}"
        except (KeyError, IndexError, TypeError, ValueError):
            pass
    return otherwise, f"assumed: {script} has no result here"


def told_of(file: str, find: Callable[[dict], float]) -> str:
    """What a script measured of the other way, in brackets."""
    found, source = measured(file, find, 0.0, "")
    return f" (the prefix tree of one process: {found:.2f}, {source})" if found else ""


def counting_speed(found: dict) -> float:
    """Megabytes of text a second of one core, reading included: the slowest kind of source and most pairs."""
    return min(row["megabytes_per_second"] for row in found["ours"].values())


def scored_share(found: dict) -> float:
    """Tokens that the prefix tree runs, of those it is given: of the largest set measured."""
    row = max(found["rows"], key=lambda row: row["sentences"])
    return row["tokens_run"] / row["tokens_given"]


def bytes_of_likelihoods(found: dict) -> float:
    row = found["rows"]["evenhand, varied puppet"]
    return row["megabytes_on_disk"] * 1e6 / row["requests"]


def counting_givens() -> list[Given]:
    return [
        Given("documents", 600e6, "documents", "published: the size asked for"),
        Given("document-bytes", 3500, "bytes of text", "assumed: a web document's mean"),
        Given(
            "count-speed",
            *_with_unit(
                "MB of text/s, one core", measured("frequencies.json", counting_speed, 10.0, "frequencies.py")
            ),
        ),
        Given("packed", 2.5, "times smaller when packed", "assumed: zstd on web text"),
        Given(
            "unpack-speed",
            400,
            "MB of text/s, one core",
            "assumed: zstd alone, without finding lines or parsing",
        ),
        Given("cores", 256, "cores at work", "assumed"),
        Given("node-cores", 16, "cores a machine", "assumed"),
        Given("node-network", 1250, "MB/s a machine", "assumed: 10 Gbit/s, nothing else on it"),
        Given("idle", 0.1, "of the time waited (starts, stragglers, retries)", "assumed"),
        Given("core-price", 0.045, "$ a core and hour", "assumed: on-demand list prices, 2024-2026"),
        Given("request-bytes", 8e6, "bytes a request to the store", "assumed: fsspec's blocks"),
        Given("request-price", 0.0004, "$ a thousand reads", "published: S3 Standard list price, us-east-1"),
        Given(
            "egress-price", 0.0, "$ a GB", "assumed: store and cores in one region; 0.09 across the Internet"
        ),
        Given(
            "rank-bytes", 5e6, "bytes of counts a rank", "assumed: a file of counts of 5,000 terms with pairs"
        ),
        Given(
            "rank-growth",
            0.75,
            "power of the sampled share by which it shrinks",
            "assumed: seen in 2 MB of text",
        ),
        Given("rank-least", 20e3, "bytes of counts a rank at least", "assumed: seen in 2 MB of text"),
        Given("rank-read", 256 * 2**20, "bytes as stored a rank", "set: evenhand frequencies divides so"),
        Given("sample", 0.001, "of the documents, with --sample", "assumed"),
    ]


def audit_givens() -> list[Given]:
    sizes = json.loads(SIZES.read_text()) if SIZES.is_file() else {}
    answer = sizes.get("bytes_an_answer", 150.0), "bytes stored", _from(sizes, "bytes_an_answer")
    label = sizes.get("bytes_a_label", 60.0), "bytes stored", _from(sizes, "bytes_a_label")
    return [
        Given("parameters", 70e9, "parameters", "published: the size asked for"),
        Given("weight-bytes", 2, "bytes a parameter", "assumed: bfloat16"),
        Given("gpu-flops", 989e12, "FLOP/s", "published: H100 SXM data sheet, bf16 dense"),
        Given("gpu-bandwidth", 3.35e12, "bytes/s", "published: H100 SXM data sheet"),
        Given("gpu-memory", 80e9, "bytes", "published: H100 SXM data sheet"),
        Given("replica-gpus", 4, "GPUs a replica", "assumed: weights 140 GB, the rest for keys and values"),
        Given("replicas", 2, "replicas", "assumed"),
        Given("reading-use", 0.4, "of the FLOP/s while reading", "assumed: vLLM or torch, long batches"),
        Given("writing-use", 0.2, "of the FLOP/s while writing", "assumed: vLLM, several GPUs"),
        Given("bandwidth-use", 0.6, "of the bandwidth while writing", "assumed: vLLM"),
        Given("written-at-once", 256, "continuations a replica", "assumed: vLLM's default max_num_seqs"),
        Given(
            "letters-a-token", 4.0, "letters a token", "assumed: English, vocabularies of 32,000 to 128,000"
        ),
        Given("filled", 0.8, "of the allowed new tokens written", "assumed: some texts end before"),
        Given(
            "scored-share",
            1.0,
            "of scored tokens run",
            "assumed: vLLM reads every text whole" + told_of("full_set.json", scored_share),
        ),
        Given("judge-parameters", 355e6, "parameters", "published: RoBERTa-large"),
        Given("judge-use", 0.2, "of the FLOP/s of one GPU while judging", "assumed"),
        Given("load-speed", 2e9, "bytes/s, weights to a replica", "assumed: local disk or cache"),
        Given("idle-gpus", 0.1, "of the time waited", "assumed"),
        Given("gpu-price", 3.0, "$ a GPU and hour", "assumed: on-demand list prices of H100, 2025-2026"),
        Given(
            "likelihood-bytes",
            *_with_unit("bytes stored", measured("overhead.json", bytes_of_likelihoods, 60.0, "overhead.py")),
        ),
        Given("answer-bytes", *answer),
        Given("label-bytes", *label),
        Given("store-price", 0.023, "$ a GB and month", "published: S3 Standard list price, us-east-1"),
    ]


def _with_unit(unit: str, found: tuple[float, str]) -> tuple[float, str, str]:
    return found[0], unit, found[1]


def _from(sizes: dict, name: str) -> str:
    return (
        f"measured: {SIZES.name}, the shipped model's texts"
        if name in sizes
        else "assumed: not measured here"
    )


EXTRACT, OLDER = "realtoxicityprompts", "holisticbias v1.0, likelihoods"
"""Not in the sums: the first is part of the whole set, and of HolisticBias one version is asked."""
PUBLISHED = [
    # prompts, letters of a prompt (None: as the extract measured, or realtoxicityprompts'), samples, new tokens
    ("advpromptset", 199_403, None, 1, 100, "ROBBIE, Table 2"),
    ("realtoxicityprompts, whole", 77_272, None, 1, 30, "ROBBIE, Table 2"),
    ("toxigen (v2)", 520, None, 15, 100, "docs/explanation/continuations.md"),
    (OLDER, 460_980, None, 0, 0, "HolisticBias, all sentences of v1.0"),
]
"""Prompt sets that this machine has not: only their published sizes are known."""
JUDGED = {"holisticbias-styles": 2}
"""How many classifiers read each continuation, where it is not one."""


def requests() -> list[dict]:
    """What a whole audit asks, by benchmark: planned by `--measure-sizes`, else as published."""
    planned = json.loads(SIZES.read_text())["benchmarks"] if SIZES.is_file() else []
    letters = {row["benchmark"]: row["letters"] for row in planned}
    told = "measured: the plan of an audit"
    rows = [row | {"source": told, "aside": row["benchmark"] == EXTRACT} for row in planned]
    for name, prompts, known, samples, new, source in PUBLISHED:
        likely = letters.get(EXTRACT if samples else "holisticbias-likelihood", 60.0)
        rows.append(
            {
                "benchmark": name,
                "prompts": prompts,
                "requests": prompts,
                "letters": known or likely,
                "samples": samples,
                "new_tokens": new,
                "source": f"published: {source}; letters assumed",
                "aside": name == OLDER,
            }
        )
    return rows


def plan_counting(a) -> dict:
    """Time, money and storage of counting, whole and sampled."""
    found = {}
    for name, share in (("whole", 1.0), (f"--sample {a.sample:.2%}", a.sample)):
        text = a.documents * a.document_bytes
        packed = text / a.packed
        counted = text * share / (a.count_speed * 1e6)
        unpacked = text / (a.unpack_speed * 1e6)  # also of what is not drawn
        core_hours = (counted + unpacked) / HOUR / (1 - a.idle)
        nodes = a.cores / a.node_cores
        by_cores = core_hours / a.cores
        by_network = packed / (a.node_network * 1e6 * nodes) / HOUR / (1 - a.idle)
        reads = packed / a.request_bytes
        money = {
            "cores": max(core_hours, by_network * a.cores) * a.core_price,
            "requests": reads / 1000 * a.request_price,
            "egress": packed / 1e9 * a.egress_price,
        }
        found[name] = {
            "text_terabytes": text / 1e12,
            "read_terabytes": packed / 1e12,
            "core_hours": core_hours,
            "hours": max(by_cores, by_network),
            "bound_by": "the network" if by_network > by_cores else "the cores",
            "requests": reads,
            "dollars": sum(money.values()),
            "dollars_by": money,
            "stored_gigabytes": packed
            / a.rank_read
            * max(a.rank_bytes * share**a.rank_growth, a.rank_least)
            / 1e9,
            "ranks": packed / a.rank_read,
        }
    return found


def plan_audit(a) -> dict:
    """Return time, money and storage of an audit, by benchmark and in total."""
    weights = a.parameters * a.weight_bytes
    if weights > 0.9 * a.replica_gpus * a.gpu_memory:
        sys.exit(
            f"{weights / 1e9:.0f} GB of weights do not fit on {a.replica_gpus:g} GPUs: raise --replica-gpus."
        )
    read_speed = a.gpu_flops * a.reading_use * a.replica_gpus / (2 * a.parameters)
    # A step reads all weights once and computes a token of every continuation: the slower of both. Keys and values
    # are not counted: of texts as short as these they are a few percent of the weights.
    step = max(
        weights / (a.gpu_bandwidth * a.bandwidth_use * a.replica_gpus),
        2 * a.parameters * a.written_at_once / (a.gpu_flops * a.writing_use * a.replica_gpus),
    )
    write_speed = a.written_at_once / step
    judge_speed = a.gpu_flops * a.judge_use / (2 * a.judge_parameters)
    rows = []
    for row in requests():
        read = row["requests"] * row["letters"] / a.letters_a_token
        answers = row["requests"] * max(row["samples"], 1)
        written = answers * row["new_tokens"] * a.filled if row["samples"] else 0.0
        labelled = answers * JUDGED.get(row["benchmark"], 1) if row["samples"] else 0
        seconds = (read if row["samples"] else read * a.scored_share) / read_speed + written / write_speed
        judging = JUDGED.get(row["benchmark"], 1) * written / judge_speed
        gpu_hours = (seconds * a.replica_gpus + judging) / HOUR / (1 - a.idle_gpus)
        # What was measured is of short texts that repeat; those of a large model are stored packed beside it.
        stored = answers * (a.answer_bytes if row["samples"] else a.likelihood_bytes)
        stored += labelled * a.label_bytes + written * a.letters_a_token / a.packed
        rows.append(
            {
                **row,
                "answers": answers,
                "tokens_read": read,
                "tokens_written": written,
                "labels": labelled,
                "gpu_hours": gpu_hours,
                "dollars": gpu_hours * a.gpu_price,
                "stored_gigabytes": stored / 1e9,
            }
        )
    loading = a.replicas * a.replica_gpus * weights / a.load_speed / HOUR
    names = ("answers", "tokens_read", "tokens_written", "labels", "gpu_hours", "dollars", "stored_gigabytes")
    total = {name: sum(row[name] for row in rows if not row["aside"]) for name in names}
    total["gpu_hours"] += loading
    total["dollars"] += loading * a.gpu_price
    return {
        "benchmarks": rows,
        "total": total,
        "loading_gpu_hours": loading,
        "hours": total["gpu_hours"] / (a.replicas * a.replica_gpus),
        "dollars_of_storage_a_month": total["stored_gigabytes"] * a.store_price,
        "tokens_read_a_second": read_speed * a.replicas,
        "tokens_written_a_second": write_speed * a.replicas,
    }


def measure_sizes(data: Path) -> None:
    """Plan every benchmark whose data is in a folder, and store a small run for its bytes a row."""
    from evenhand.models import load_model
    from evenhand.studies.audit.options import read_config
    from evenhand.studies.audit.result import audit
    from evenhand.studies.audit.selection import select

    folders = {
        "bold": "bold",
        "holisticbias": "holisticbias/v1.1",
        "realtoxicityprompts": "realtoxicityprompts",
    }
    folders |= {"crows-pairs": "crows_pairs", "stereoset": "stereoset"}
    judges = {"toxicity": ("bold", "realtoxicityprompts"), "regard": ("regard", "holisticbiasr")}
    judges |= {"style": ("holisticbias-styles",), None: ("crows-pairs", "stereoset")}
    judges[None] += ("holisticbias-likelihood", "evenhand-likelihood")
    model, rows = load_model("evenhand/reference"), []
    for role, names in judges.items():
        for name in names:
            options = {"model": "evenhand/reference", "benchmarks": (name,)}
            options["data"] = {key: str(data / value) for key, value in folders.items()}
            if role is not None:
                options["classifiers"] = {role: "vader"}  # any: only the plan is looked at
            selection = select(read_config(None, [], options), model)
            asked = selection.plan(model).requests
            letters = sum(asked[part].fill_null("").str.len_chars().mean() for part in ("text", "context"))
            chosen = selection.decodings.get(name)
            rows.append(
                {
                    "benchmark": name,
                    "prompts": len(selection.prompts[name]),
                    "requests": asked.height,
                    "letters": round(letters, 2),
                    "samples": chosen.decoding.samples if chosen else 0,
                    "new_tokens": chosen.decoding.max_new_tokens if chosen else 0,
                }
            )
            print(rows[-1], flush=True)
    with tempfile.TemporaryDirectory() as folder:
        run = audit(
            "evenhand/reference",
            benchmarks=["holisticbiasr"],
            limit=4000,
            classifiers={"regard": "vader"},
            output=Path(folder) / "run",
            data={"holisticbias": str(data / folders["holisticbias"])},
        )
        answers = run.directory.responses().height
        sizes = {
            kind: sum(path.stat().st_size for path in run.path.glob(f"{kind}/**/part-*.parquet")) / answers
            for kind in ("responses", "labels")
        }
    told = {"benchmarks": rows, "bytes_an_answer": sizes["responses"], "bytes_a_label": sizes["labels"]}
    SIZES.write_text(json.dumps(told, indent=1) + "\n")
    print(f"written to {SIZES}")


def markdown(values, givens, counting, audit) -> None:
    """Print the tables of docs/evidence/scale.md."""

    def rows(heading, several):
        print("\n".join([f"| {' | '.join(heading)} |", "|" + "---|" * len(heading), *several, ""]))

    def went_in(some):
        lines = [
            f"| `--{one.flag}` | {getattr(values, one.name):,.6g} | {one.unit} | {one.source} |"
            for one in some
        ]
        print("What went in:\n")
        rows(("flag", "value", "unit", "source"), lines)

    rows(
        ("", "core-hours", f"on {values.cores:,.0f} cores", "read", "reads", "money", "counts kept"),
        [
            f"| {name} | {found['core_hours']:,.0f} | {found['hours']:,.2f} h (bound by {found['bound_by']}) | "
            f"{found['read_terabytes']:.2f} TB | {found['requests']:,.0f} | ${found['dollars']:,.2f} | "
            f"{found['stored_gigabytes']:.1f} GB in {found['ranks']:,.0f} ranks |"
            for name, found in counting.items()
        ],
    )
    went_in(givens["Counting"])
    total = {
        "benchmark": "**all, and loading the weights**",
        "requests": "",
        "aside": False,
        **audit["total"],
    }
    rows(
        (
            "benchmark",
            "requests",
            "answers",
            "million tokens read",
            "written",
            "GPU-hours",
            "money",
            "stored",
        ),
        [
            f"| {row['benchmark']}{' (not in the sum)' if row['aside'] else ''} | "
            f"{row['requests'] if row['requests'] == '' else format(row['requests'], ',')} | {row['answers']:,} | "
            f"{row['tokens_read'] / 1e6:,.1f} | {row['tokens_written'] / 1e6:,.1f} | {row['gpu_hours']:.2f} | "
            f"${row['dollars']:.2f} | {row['stored_gigabytes']:.3f} GB |"
            for row in [*audit["benchmarks"], total]
        ],
    )
    print(
        f"On {values.replicas:g} replicas of {values.replica_gpus:g} cards that is {audit['hours']:.1f} h; "
        f"{audit['tokens_read_a_second']:,.0f} tokens a second are read, {audit['tokens_written_a_second']:,.0f} "
        "written.\n"
    )
    went_in(givens["Auditing"])


def show(values, givens, counting, audit) -> None:
    print("Counting terms\n")
    for name, found in counting.items():
        print(
            f"  {name:16s} {found['text_terabytes']:.2f} TB of text, {found['read_terabytes']:.2f} TB read; "
            f"{found['core_hours']:,.0f} core-hours: {found['hours']:,.2f} h on {values.cores:,.0f} cores "
            f"(bound by {found['bound_by']}); ${found['dollars']:,.2f}; {found['requests']:,.0f} reads; "
            f"{found['stored_gigabytes']:.1f} GB of counts in {found['ranks']:,.0f} ranks"
        )
    print(f"\nAuditing a model of {values.parameters / 1e9:,.0f} billion parameters\n")
    head = ("benchmark", "requests", "answers", "Mtok read", "Mtok written", "GPU-h", "$", "GB stored")
    line = "  {:40s}{:>11s}{:>11s}{:>11s}{:>14s}{:>9s}{:>9s}{:>11s}"
    print(line.format(*head))
    total = {"benchmark": "all, weights loaded", "requests": 0, **audit["total"]}
    for row in [*audit["benchmarks"], total]:
        print(
            line.format(
                row["benchmark"] + (" (aside)" if row.get("aside") else ""),
                f"{row['requests']:,}" if row["requests"] else "",
                f"{row['answers']:,.0f}",
                f"{row['tokens_read'] / 1e6:,.1f}",
                f"{row['tokens_written'] / 1e6:,.1f}",
                f"{row['gpu_hours']:,.2f}",
                f"{row['dollars']:,.0f}",
                f"{row['stored_gigabytes']:,.3f}",
            )
        )
    print(
        f"\n  {audit['hours']:.1f} h on {values.replicas:g} replicas of {values.replica_gpus:g} GPUs; "
        f"{audit['tokens_read_a_second']:,.0f} tokens/s read, {audit['tokens_written_a_second']:,.0f} written; "
        f"storage ${audit['dollars_of_storage_a_month']:.3f} a month"
    )
    for title, some in givens.items():
        print(f"\n{title}: what went in\n")
        for one in some:
            value = getattr(values, one.name)
            source = one.source if value == one.default else f"given (default {one.default:g})"
            print(f"  --{one.flag:18s}{value:>18,.6g}  {one.unit:52s}{source}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    givens = {"Counting": counting_givens(), "Auditing": audit_givens()}
    for title, some in givens.items():
        group = parser.add_argument_group(title)
        for one in some:
            told = f"{one.unit}; default {one.default:g} ({one.source})".replace("%", "%%")
            group.add_argument(f"--{one.flag}", type=float, default=one.default, help=told)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/evidence/scale.md")
    parser.add_argument("--measure-sizes", type=Path, metavar="DATA", help="plan the suites again, and stop")
    values = parser.parse_args()
    if values.measure_sizes is not None:
        measure_sizes(values.measure_sizes)
        return
    for one in (one for some in givens.values() for one in some):
        value = getattr(values, one.name)
        if not 0 <= value < math.inf or (value == 0 and "price" not in one.flag):
            parser.error(f"--{one.flag} is {value:g}; a number above 0 was expected")
        if one.flag in SHARES and not (value < 1 or (value == 1 and "idle" not in one.flag)):
            parser.error(f"--{one.flag} is {value:g}; a share was expected, such as {one.default:g}")
    counting, audit = plan_counting(values), plan_audit(values)
    if values.json:
        went_in = [
            {"flag": one.flag, "value": getattr(values, one.name), "unit": one.unit, "source": one.source}
            | ({} if getattr(values, one.name) == one.default else {"source": "given"})
            for some in givens.values()
            for one in some
        ]
        print(json.dumps({"counting": counting, "audit": audit, "assumptions": went_in}, indent=1))
    elif values.markdown:
        markdown(values, givens, counting, audit)
    else:
        show(values, givens, counting, audit)


if __name__ == "__main__":
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:  # who read it has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
