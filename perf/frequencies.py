"""Compare the speed of counting terms: NLTK, and evenhand with one and two processes, at two sizes of text.

    python perf/frequencies.py --data FOLDER        # Minutes, and 3 GB of disk while it runs.

FOLDER holds real text in .txt, .csv, .json and .jsonl files, or folders of the names in WRITTEN that do. Its lines are
joined to documents of about 3.5 kB, as those of web corpora are, and repeated, in another order each time, up to
--megabytes; for the larger size the same files are counted several times under other names. Goals: 50 times as fast as
NLTK's word tokens and a set of terms (as ROBBIE counted, section B.4), on one core and reading included; 1.8 times with
two processes; time linear and memory flat to 2 GB; and the counts those of one regular expression a spelling.

Each measurement is a separate process with one thread. Processor time is counted, so that a busy machine changes
little. The gain of two processes is visible only in wall-clock time, on two idle cores. The shortest of REPEATS runs
with one process is compared with the shortest with two; the runs alternate.
"""

import argparse
import csv
import json
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import time
import unicodedata
from bisect import bisect_right
from collections import Counter as Multiset
from pathlib import Path

import polars as pl
from common import measured_process, peak_megabytes

DOCUMENT = 3500
FILES = 2
REPEATS = 3
WRITTEN = ("wikitext2", "bold", "realtoxicityprompts")
"""Sets of what people wrote, in Wikipedia and the web."""
DENSE = ("redditbias",)
"""Comments that were picked for the groups they name: several times as many hits as in a corpus."""
NLTK_SLICE, CHECKED_SLICE = 2_000_000, 5_000_000


def lines_of(path: Path) -> list[str]:
    """The texts of a file: lines, cells, or values that are as long as a clause."""
    text = path.read_text(encoding="utf-8", errors="replace")
    match path.suffix:
        case ".txt":
            several = text.splitlines()
        case ".csv":
            csv.field_size_limit(1 << 24)
            several = [cell for row in csv.reader(text.splitlines()) for cell in row]
        case ".jsonl":
            several = [one for line in text.splitlines() for one in strings_of(json.loads(line))]
        case _:
            several = list(strings_of(json.loads(text)))
    return [one for one in several if len(one) >= 20 and " " in one]


def strings_of(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings_of(one)


def documents_of(data: Path, names: tuple[str, ...] = WRITTEN) -> list[str]:
    documents, held, size = [], [], 0
    folders = [data / name for name in names if (data / name).is_dir()]
    if names == WRITTEN and not folders:
        folders = [data]
    for path in sorted(file for folder in folders for file in folder.rglob("*")):
        if path.suffix not in (".txt", ".csv", ".json", ".jsonl"):
            continue
        for line in lines_of(path):
            held.append(line)
            size += len(line)
            if size >= DOCUMENT:
                documents.append("\n".join(held))
                held, size = [], 0
    return documents


def repeated(documents: list[str], size: int, seed: int) -> tuple[pl.DataFrame, int]:
    """Documents, again and again in another order, until they are of `size` bytes; and their bytes."""
    distinct, draw = sum(len(text.encode()) for text in documents), random.Random(seed)
    times = -(-size // distinct)
    texts = [text for _ in range(times) for text in draw.sample(documents, len(documents))]
    return pl.DataFrame({"text": texts}), times * distinct


def write_corpus(folder: Path, documents: list[str], dense: list[str], size: int, larger: int) -> dict:
    """The corpus as Parquet and as JSON lines, in FILES files each, and once more under several names."""
    written = 0
    for kind in ("parquet", "jsonl", "middle", "larger", "dense"):
        (folder / kind).mkdir()
    for part in range(FILES):
        frame, held = repeated(documents, size // FILES, part)
        written += held
        frame.write_parquet(folder / "parquet" / f"{part}.parquet", row_group_size=4096)
        frame.write_ndjson(folder / "jsonl" / f"{part}.jsonl")
    of_dense = 0
    if dense:
        frame, of_dense = repeated(dense, size, 0)
        frame.write_parquet(folder / "dense" / "0.parquet", row_group_size=4096)
    times = {"middle": -(-larger // (4 * written)), "larger": -(-larger // written)}
    for kind, several in times.items():
        for number in range(several):
            for part in range(FILES):
                os.link(folder / "parquet" / f"{part}.parquet", folder / kind / f"{number}-{part}.parquet")
    distinct = sum(len(text.encode()) for text in documents)
    return {
        "distinct": distinct,
        "documents": len(documents),
        "size": written,
        **{kind: several * written for kind, several in times.items()},
        "dense": of_dense,
    }


def terms_table(data: Path, many: bool):
    """The lists that need no download, or 5,000 terms: also published descriptors and names, and rare words."""
    from evenhand.corpus.terms import build_terms

    if not many:
        return build_terms(["descriptors", "pronouns"])
    published = {"holisticbias": data / "holisticbias", "births": data / "names"}
    here = {name: folder for name, folder in published.items() if folder.is_dir()}
    lists = ["descriptors", "pronouns", *(here or ["names"])]
    found = build_terms(lists, **here)
    known = set(found.surfaces["text"])
    words = Multiset(word for text in documents_of(data) for word in re.findall("[a-z]{4,}", text.lower()))
    rare = [word for word, times in words.most_common() if times < 50 and word not in known]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.csv"
        rows = [f"{word},words,{i % 50}" for i, word in enumerate(rare[: max(5000 - len(found), 1)])]
        path.write_text("\n".join(["term,axis,group", *rows]) + "\n")
        return build_terms([*lists, str(path)], **here)


def measure_ours(
    data: Path, folder: Path, files: list[str], many: bool, pairs: str, ready: Path | None
) -> dict:
    from evenhand.corpus import Counter, Matcher, read_counts, write_counts
    from evenhand.corpus.reading import pieces, read_batches

    table = terms_table(data, many)
    all_pieces = pieces([f"corpus={folder / file}" for file in files])
    if ready is not None:
        ready.touch()
        while len(list(ready.parent.glob("ready-*"))) < FILES:
            time.sleep(0.01)
    begun, wall = time.process_time(), time.time()
    matcher = Matcher(table)
    counter = Counter(table, matcher, corpus="corpus", pairs=[pairs])
    for piece in all_pieces:
        for batch in read_batches(piece):
            counter.add(batch, piece)
    path = folder / f"counts-{os.getpid()}.parquet"
    write_counts(path, counter.counts())
    seconds, ended = time.process_time() - begun, time.time()
    counts = read_counts(path)
    return {
        "terms": len(table),
        "surfaces": table.surfaces.height,
        "seconds": seconds,
        "begun": wall,
        "ended": ended,
        "peak_megabytes": peak_megabytes(),
        "pairs_kept": counts.pairs.height,
        "bytes": int(counts.sources["bytes"].sum()),
        "hits": int(counts.terms["hits"].sum()),
        "file_bytes": path.stat().st_size,
        "path": str(path),
    }


def measure_nltk(data: Path, folder: Path, source: str) -> dict:
    """Each document in lower case, its NLTK word tokens, and which terms are among them."""
    import nltk
    from nltk.tokenize import NLTKWordTokenizer, PunktSentenceTokenizer

    words = NLTKWordTokenizer()
    try:
        nltk.data.find("tokenizers/punkt_tab")
        sentences, trained = nltk.data.load("tokenizers/punkt_tab/english.pickle"), True
    except LookupError:
        sentences, trained = PunktSentenceTokenizer(), False
    terms = {name.lower() for name in terms_table(data, False).terms["name"]}
    texts = slice_of(folder / source, NLTK_SLICE)
    begun = time.process_time()
    documents: Multiset = Multiset()
    for text in texts:
        tokens = {
            token for sentence in sentences.tokenize(text.lower()) for token in words.tokenize(sentence)
        }
        documents.update(terms & tokens)
    seconds = time.process_time() - begun
    return {
        "seconds": seconds,
        "bytes": sum(len(text.encode()) for text in texts),
        "punkt": "trained" if trained else "untrained",
    }


def slice_of(folder: Path, size: int) -> list[str]:
    return pl.read_parquet(folder / "0.parquet", n_rows=size // DOCUMENT)["text"].to_list()


def measure_equality(data: Path, folder: Path) -> dict:
    """Compare the hits and documents of each spelling, found by a separate regular expression, with those of the
    matcher."""
    import numpy as np

    from evenhand.corpus import Matcher

    table = terms_table(data, False)
    texts = slice_of(folder / "parquet", CHECKED_SLICE)
    found = Matcher(table).find(texts)
    hits = np.bincount(found.surface, minlength=table.surfaces.height)
    pairs = np.unique(found.surface.astype(np.int64) * len(texts) + found.document)
    documents = np.bincount(pairs // len(texts), minlength=table.surfaces.height)
    joined = "\n\n\n".join(plainly(text) for text in texts)
    edges = [0]
    for text in texts:
        edges.append(edges[-1] + len(plainly(text)) + 3)
    differing = []
    for surface, spelt in enumerate(table.surfaces["text"]):
        places = [match.start() for match in expression(spelt).finditer(joined)]
        by_hand = (len(places), len({bisect_right(edges, place) for place in places}))
        if by_hand != (hits[surface], documents[surface]):
            differing.append((spelt, by_hand, (int(hits[surface]), int(documents[surface]))))
    size = sum(len(text.encode()) for text in texts)
    return {
        "bytes": size,
        "surfaces": table.surfaces.height,
        "hits": int(hits.sum()),
        "differing": differing,
    }


def plainly(text: str) -> str:
    """In lower case, with straight apostrophes."""
    return re.sub("[\u2018\u2019]", "'", unicodedata.normalize("NFC", text).lower())


def expression(spelt: str) -> re.Pattern[str]:
    """A spelling between what is no letter, digit or underscore; spaces, one hyphen, or one line end part its words."""
    words = spelt.split(" ")
    hyphen = "[-\u2010-\u2013]"
    gap = rf"(?:{hyphen}|[ \t\xa0]+{hyphen}?|{hyphen}[ \t\xa0]+|[ \t\xa0]*\n[ \t\xa0]*)"
    # what stands before is looked at afterwards, so that the engine may search for the first word
    before = rf"(?<!\w{re.escape(words[0])})"
    rest = "".join(gap + re.escape(word) for word in words[1:])
    return re.compile(rf"{re.escape(words[0])}{before}{rest}(?!\w)")


def worker(data: Path, arguments: list[str]) -> dict:
    match arguments:
        case ["nltk", folder, source]:
            return measure_nltk(data, Path(folder), source)
        case ["equality", folder]:
            return measure_equality(data, Path(folder))
        case ["ours", folder, files, many, pairs, *ready]:
            place = Path(ready[0]) if ready else None
            return measure_ours(data, Path(folder), files.split(","), many == "many", pairs, place)
    raise SystemExit(f"unknown work: {arguments}")


def two_processes(data: Path, folder: Path) -> dict:
    """One file of the corpus each at the same time, and their counts added."""
    from evenhand.corpus import merged, read_counts

    outputs = [folder / f"found-{part}.json" for part in range(FILES)]
    running = [
        subprocess.Popen(
            [
                *(sys.executable, __file__, "--data", str(data), "--output", str(output), "--worker", "ours"),
                *(str(folder), f"parquet/{part}.parquet", "few", "default", str(folder / f"ready-{part}")),
            ]
        )
        for part, output in enumerate(outputs)
    ]
    if any(process.wait() for process in running):
        sys.exit("one of the two processes failed")
    found = [json.loads(output.read_text()) for output in outputs]
    begun = time.process_time()
    together = merged([read_counts(one["path"]) for one in found])
    merging = time.process_time() - begun
    return {
        "seconds": max(one["seconds"] for one in found) + merging,
        "wall": max(one["ended"] for one in found) - min(one["begun"] for one in found) + merging,
        "merging": merging,
        "hits": int(together.terms["hits"].sum()),
    }


def one_and_two(data: Path, folder: Path) -> dict:
    """Compare the shortest run of two processes with the shortest of one process that counts everything."""
    ones, twos = [], []
    for _ in range(REPEATS):
        ones.append(measured_process(Path(__file__), data, ["ours", str(folder), *RUNS["Parquet"]]))
        twos.append(two_processes(data, folder))
        for ready in folder.glob("ready-*"):
            ready.unlink()
    one = {
        "wall": min(row["ended"] - row["begun"] for row in ones),
        "seconds": min(row["seconds"] for row in ones),
    }
    two = min(twos, key=lambda row: row["wall"])
    return two | {"one": one, "times_one": one["wall"] / two["wall"]}


RUNS = {  # name: source, terms, pairs
    "Parquet, no pairs": ("parquet", "few", "none"),
    "Parquet": ("parquet", "few", "default"),
    "JSON lines": ("jsonl", "few", "default"),
    "Parquet, 5,000 terms, no pairs": ("parquet", "many", "none"),
    "Parquet, 5,000 terms": ("parquet", "many", "default"),
    "Parquet, 5,000 terms, all pairs": ("parquet", "many", "all"),
    "larger": ("larger", "few", "default"),
    "larger (a quarter), 5,000 terms": ("middle", "many", "default"),
    "dense": ("dense", "few", "default"),
}


def measured(data: Path, folder: Path, sizes: dict) -> dict:
    nltk, runs = {}, {}
    for source in ("parquet", *(["dense"] if sizes["dense"] else [])):
        nltk[source] = row = measured_process(Path(__file__), data, ["nltk", str(folder), source])
        row["megabytes_per_second"] = row["bytes"] / 1e6 / row["seconds"]
        name = f"NLTK, {source} (Punkt {row['punkt']})"
        print(f"{name:38s}{row['megabytes_per_second']:9.2f} MB/s")
    for name, (source, terms, pairs) in RUNS.items():
        size = sizes.get(source, sizes["size"])
        if not size:
            continue
        row = measured_process(Path(__file__), data, ["ours", str(folder), source, terms, pairs])
        row["megabytes_per_second"] = size / 1e6 / row["seconds"]
        row["hits_per_megabyte"] = row["hits"] / (size / 1e6)
        compared = nltk["dense" if source == "dense" else "parquet"]
        row["times_nltk"] = row["megabytes_per_second"] / compared["megabytes_per_second"]
        row["wall"] = row["ended"] - row["begun"]
        runs[name] = row
        print(
            f"{name:38s}{row['megabytes_per_second']:9.1f} MB/s {row['times_nltk']:6.0f} x NLTK"
            f"{row['peak_megabytes']:8.0f} MB{row['pairs_kept']:11,d} rows of pairs"
            f"{row['hits_per_megabyte']:8,.0f} hits/MB{row['wall']:7.1f} s"
        )
    one, larger = runs["Parquet"], runs["larger"]
    growth = larger["megabytes_per_second"] / one["megabytes_per_second"]
    memory = larger["peak_megabytes"] / one["peak_megabytes"]
    print(f"{'larger: rate, and most memory':38s}{growth:9.2f} x, {memory:.2f} x")
    two = one_and_two(data, folder)
    two["equal"] = two["hits"] == one["hits"]
    clocks = [f"{two['one'][clock]:.2f} s to {two[clock]:.2f} s" for clock in ("wall", "seconds")]
    print(
        f"{'two processes':38s}{two['times_one']:9.2f} x one (wall {clocks[0]}, processor {clocks[1]} each), "
        f"equal: {two['equal']}"
    )
    equality = measured_process(Path(__file__), data, ["equality", str(folder)])
    print(
        f"{equality['hits']:,} hits of {equality['surfaces']:,} spellings in {equality['bytes'] / 1e6:.1f} MB: "
        f"{len(equality['differing'])} spellings differ from a regular expression {equality['differing'][:5]}"
    )
    return {"nltk": nltk, "ours": runs, "two_processes": two, "equality": equality}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with real text, also in folders of it"
    )
    parser.add_argument(
        "--megabytes", type=int, default=200, help="the smaller size, of Parquet and JSON lines"
    )
    parser.add_argument("--larger", type=int, default=2000, help="the larger size")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "frequencies.json")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        options.output.write_text(json.dumps(worker(options.data, options.worker)))
        return
    os.environ |= {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}  # of the processes that are measured
    documents = documents_of(options.data)
    if not documents:
        parser.error(f"--data: {options.data} holds no .txt, .csv, .json or .jsonl file with text")
    with tempfile.TemporaryDirectory() as folder:
        size, larger = options.megabytes * 10**6, options.larger * 10**6
        sizes = write_corpus(Path(folder), documents, documents_of(options.data, DENSE), size, larger)
        print(
            f"{sizes['distinct'] / 1e6:.1f} MB of text in {sizes['documents']:,} documents, repeated to "
            f"{sizes['size'] / 1e6:.0f} and {sizes['larger'] / 1e6:.0f} MB"
        )
        found = measured(options.data, Path(folder), sizes)
    for row in found["ours"].values():
        row.pop("path")
    about = {"machine": platform.machine(), "python": platform.python_version(), "text": sizes}
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(about | found, indent=1) + "\n")
    print(f"Written to {options.output}")


if __name__ == "__main__":
    main()
