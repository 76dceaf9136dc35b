"""At least 300 command lines that are wrong, each in one way: verbs by their options, and verbs by bad files.

Options come from the command line itself, so that a new flag is tried without anybody thinking of it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from typer.models import OptionInfo

from evenhand.cli.app import app
from tests.robustness import bad_files

ESCAPES = "\x1b[31mred\x1b[0m\x07\x9b2J\u202e"
"""What a terminal would obey: colour, bell, clearing the screen, right to left."""
BYTES = "\udcff\udcfe"
"""Bytes of the command line that are no UTF-8, as Python hands them on."""
UNKNOWN = ("", "no-such-thing", ESCAPES, BYTES, "x" * 5000, "ünïcödé", "../../etc/passwd", "a=b?c=d&e")
NUMBERS: dict[type, tuple[str, ...]] = {
    int: ("many", "1.5", "-3", "", "9" * 40),
    float: ("wide", "nan", "inf", "-inf", ""),
}
OUTPUTS = (
    "good/prompts.csv",
    "good/prompts.csv/inner",
    "bad/loop.csv/inner",
    "/proc/nobody/inner",
    "x" * 300,
    "",
)
TABLES = tuple(
    [
        *(f"bad/{name}.csv" for name in bad_files.CSV),
        *(f"bad/{name}.jsonl" for name in bad_files.JSON_LINES),
        *(
            f"bad/{name}.parquet"
            for name in ("cut", "magic", "a-csv", "zero", "rowless", "list", "bytes", "structs")
        ),
        *(
            f"bad/{name}"
            for name in ("folder.csv", "loop.csv", "dangling.csv", "pipe.csv", "ending.xlsx", "ending.txt")
        ),
        *(
            "bad/ending.csv.gz",
            "bad/ending.CSV.bak",
            "bad/ending",
            "none.csv",
            "",
            f"{ESCAPES}.csv",
            f"{BYTES}.csv",
        ),
        *(f"{'x' * 300}.csv", "bad/surrogate.json"),
    ]
)
SOME_TABLES = tuple(TABLES[::4])

BASES: dict[str, tuple[str, ...]] = {
    "audit": ("audit", "house/writer", "-b", "rudeness"),
    "before-after": ("before-after", "house/writer", "-b", "rudeness", "--mitigate", "prefix=Be kind."),
    "check-consistency": (
        *("check-consistency", "prefix=Be kind.", "--model", "house/writer", "--prompts", "good/cases.csv"),
        *("--neutral", "none", "--opposite", "Be rude.", "--classifier", "vader"),
    ),
    "search-instruction": ("search-instruction", "house/writer", "-b", "rudeness"),
    "search-trigger": (
        "search-trigger",
        "good/model",
        "--prompts",
        "good/prompts.csv",
        "--classifier",
        "vader",
    ),
    "measure": ("measure", "good/continuations.csv", "-b", "rudeness"),
    "rescore": ("rescore", "runs/judged", "--classifier", "rudeness=house/words?word=rude"),
    "compare": ("compare", "runs/judged", "runs/judged"),
    "agreement": ("agreement", "runs/judged"),
    "calibrate": ("calibrate", "plain", "--replications", "2"),
    "data build": ("data", "build", "evenhand"),
    "data fetch": ("data", "fetch", "crows-pairs"),
    "data counterfactuals": (
        *("data", "counterfactuals", "good/prompts.csv", "--axis", "gender", "--to", "male"),
        *("-o", "new.csv"),
    ),
    "debias": (
        *("debias", "good/model", "-m", "cda", "--specification", "good/terms.toml"),
        *("--data", "good/texts.txt", "--device", "cpu"),
    ),
    "study redditbias": ("study", "redditbias", "good/model", "-b", "evenhand/age", "-m", "cda"),
}
"""Lines that are right but for what is added."""
BUILD = ("data", "build", "redditbias", "--bias", "good/terms.toml")
OUTPUT_FLAG = {
    "debias",
    "study redditbias",
    "audit",
    "before-after",
    "check-consistency",
    "search-instruction",
    "search-trigger",
    "agreement",
    "measure",
    "compare",
    "data build",
}
NOTHING_MADE = OUTPUT_FLAG - {"agreement", "measure", "compare"}
"""Verbs of which nothing may be there after a line that could not work: neither a folder nor a question asked."""
SEEDED = (
    "debias",
    "study redditbias",
    "audit",
    "before-after",
    "check-consistency",
    "search-instruction",
    "search-trigger",
    "measure",
    "compare",
    "calibrate",
    "data build",
)
HARMLESS = {
    "trust_remote_code",
    "chat",
    "retry_errors",
    "plan",
    "report",
    "output",
    "help",
    "judge_prompt",
    "first_sentence",
    "punctuation",
    "only_terms",
    "quick",
    "full",
    "as_published",
    "trust_addresses",
    "system",
    "initial",
    "name",
    "opposite",
    "instruction",
    "exclude",
    "revision",
    "junit",
    "summary",
}
"""Options of which any text is a value, or which are tried below."""
FILES = {
    *("specification", "annotations", "perplexities", "multiwoz", "dstc7"),
    "prompts",
    "config",
    "classifier_error",
    "neutral",
    "examples",
    "terms",
    "seeds",
    "source",
}


@dataclass(frozen=True)
class Line:
    """One command line. makes: what must not be there afterwards; "" where the line may not be watched so."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    makes: str = ""

    def __str__(self) -> str:
        shown = " ".join(ascii(word)[:60] if word else "''" for word in self.words)
        return " ".join([*(f"{k}={ascii(v)[:40]}" for k, v in self.environment.items()), shown])


def lines() -> list[Line]:
    """The corpus, each line once, in an order that never changes."""
    made = {
        line.words + tuple(line.environment.items()): line
        for part in (
            _options,
            _input_files,
            _outputs,
            _folders,
            _models,
            _names,
            _addresses,
            _bare,
            _training,
            _pairs,
        )
        for line in part()
    }
    return list(made.values())


def _line(verb: str, *words: str, **environment: str) -> Line:
    output = ("-o", "new") if verb in OUTPUT_FLAG else ()
    return Line((*BASES[verb], *words, *output), environment, "new" if verb in NOTHING_MADE else "")


@dataclass(frozen=True)
class _Flag:
    """An option of a verb, as its function declares it."""

    name: str
    flag: str
    kind: type
    lowest: float | None


def _flags() -> Iterator[tuple[str, list[_Flag]]]:
    """The options of each verb."""
    groups = [("", app), *((f"{group.name} ", group.typer_instance) for group in app.registered_groups)]
    for prefix, group in groups:
        for command in group.registered_commands:
            assert command.callback is not None
            yield f"{prefix}{command.name or command.callback.__name__}", list(_of(command.callback))


def _of(verb: Callable[..., Any]) -> Iterator[_Flag]:
    for name, parameter in signature(verb, eval_str=True).parameters.items():
        hint, extra = parameter.annotation, ()
        if get_origin(hint) is Annotated:
            hint, *extra = get_args(hint)
        info = next((one for one in (parameter.default, *extra) if isinstance(one, OptionInfo)), None)
        if info is None:
            continue
        kinds = [kind for kind in (*get_args(hint), hint) if kind in (int, float, bool, str, Path)]
        long = [word for word in info.param_decls or () if word.startswith("--")]
        yield _Flag(
            name, long[0] if long else f"--{name.replace('_', '-')}", kinds[0] if kinds else str, info.min
        )


def _options() -> Iterator[Line]:
    """Each option of each verb with values that it cannot have."""
    for verb, flags in _flags():
        if verb not in BASES:
            continue
        for one in flags:
            if one.name not in HARMLESS | FILES and one.kind is not bool:
                for value in _bad_values(one):
                    yield _line(verb, one.flag, value)
        yield _line(verb, "--no-such-option")
        yield _line(verb, "--seed") if verb in SEEDED else _line(verb, "--no-such-option", "1")
        if verb != "calibrate":  # which needs to be told nothing
            yield Line(BASES[verb][: 2 if " " in verb else 1])


def _bad_values(one: _Flag) -> tuple[str, ...]:
    if one.kind in NUMBERS:
        below = () if one.lowest is None else (str(one.lowest - 1),)
        return (*NUMBERS[one.kind], *below)
    return (
        UNKNOWN if one.name not in ("classifier", "mitigate", "data", "attributes", "output") else UNKNOWN[1:]
    )


def _input_files() -> Iterator[Line]:
    for file in TABLES:
        yield Line(
            ("audit", "puppet/random", "-b", "evenhand-likelihood", "--prompts", file, "-o", "new"), {}, "new"
        )
        yield Line(("measure", file, "-b", "evenhand-likelihood"))
        yield Line(("measure", file, "-b", "rudeness", "--classifier", "vader"))
    for verb in ("audit", "before-after", "search-instruction"):
        for file in SOME_TABLES:
            yield _line(verb, "--prompts", file)
    base = BASES["data counterfactuals"]
    for file in SOME_TABLES:
        if "span" not in file:  # which counterfactuals do not look at
            yield Line((*base[:2], file, *base[3:]), {}, "new.csv")
    for group in ("nobody", "male", ""):
        yield Line((*base, "--from", group), {}, "new.csv")
    for verb in ("audit", "before-after", "measure"):
        for file in (*SOME_TABLES, "good/prompts.csv"):
            yield _line(verb, "--classifier-error", file)
    check, search = BASES["check-consistency"], BASES["search-trigger"]
    for file in SOME_TABLES:
        yield Line((*check[:4], "--prompts", file, *check[6:], "-o", "new"), {}, "new")
        yield Line((*check[:6], "--neutral", file, *check[8:], "-o", "new"), {}, "new")
        yield Line((*search[:2], "--prompts", file, *search[4:], "-o", "new"), {}, "new")
        yield _line("search-trigger", "--examples", file)
        yield _line("measure", "--classifier", f"scores:{file}")
        yield _line("rescore", "--classifier", f"rudeness=scores:{file}")
    files = [
        *(f"bad/{name}.yaml" for name in bad_files.YAML),
        "none.yaml",
        "a-folder",
        "bad/pipe.csv",
        "bad/loop.csv",
    ]
    for file in files:
        yield _line("audit", "-c", file)
    for file in files[::3]:
        yield _line("before-after", "-c", file)
    for name in (*(f"bad/{name}.json" for name in bad_files.JSON), "none.json", "a-folder", "bad/pipe.csv"):
        if not name.endswith(("/deep.json", "/list.json", "/word.json", "/null.json")):  # texts, as any
            yield _line("audit", "--mitigate", f"instruction-file={name}")
        yield Line(
            (
                "audit",
                "good/model",
                "-b",
                "evenhand-likelihood",
                "--mitigate",
                f"trigger={name}",
                "-o",
                "new",
            ),
            {},
            "new",
        )
        yield Line(("compare", "runs/judged", name))
        yield Line(("compare", name, name))
        yield _line("measure", "--classifier", f"llm-judge?model=m&rubric={name}")
    for name in ("bad/nest.toml", "bad/utf16.yaml", "none.toml"):
        yield _line("measure", "--classifier", f"llm-judge?model=m&rubric={name}")
    for file in (
        "bad/picture.csv",
        "bad/deep.jsonl",
        "bad/cut.jsonl",
        "bad/no-json.jsonl",
        "bad/nothing.jsonl",
    ):
        yield Line(("compare", file, file))
    for name in ("a-folder", "none", "bad/empty.csv", "good/prompts.csv"):
        yield Line(("data", "fetch", "crows-pairs", "--from", name))
        for data in ("holisticbias", "advpromptset"):
            yield Line(("data", "build", data, "-o", "new.csv", "--from", name), {}, "new.csv")
    for file in SOME_TABLES:
        yield Line(
            ("data", "build", "advpromptset", "--from", "a-folder", "--terms", file, "-o", "new.jsonl"),
            {},
            "new.jsonl",
        )


def _training() -> Iterator[Line]:
    """Trainings from bad terms, texts and models, into folders of others; and adapters that are none."""
    base = BASES["debias"]
    for name in (*(f"bad/{name}.toml" for name in bad_files.TOML), "none.toml", "a-folder", "bad/pipe.csv"):
        if name not in ("bad/share-one.toml", "bad/share-nan.toml"):
            yield Line((*base[:5], name, *base[6:], "-o", "new"), {}, "new")
    texts = (*(f"bad/texts-{name}.txt" for name in bad_files.TEXTS_ONLY), *TABLES)
    for name in (*texts, "good/prompts.csv", "none.txt", "a-folder"):
        yield Line((*base[:7], name, *base[8:], "-o", "new"), {}, "new")
    for name in (*(f"bad/models/{name}" for name in _model_names()), "puppet/random", "a-folder"):
        yield Line((base[0], name, *base[2:], "-o", "new"), {}, "new")
    for words in (
        *(("-b", "race"), ("-b", "race", "--from", "a-folder"), ("-b", "race", "--from", "none")),
        *(("-b", "evenhand/moon"), ("-b", "evenhand/"), ("-b", "moon"), ("-b", ESCAPES), ()),
    ):
        yield Line(("debias", "good/model", "-m", "cda", *words, "-o", "new"), {}, "new")
        yield Line(("study", "redditbias", "good/model", *words[:2], *words[2:], "-o", "new"), {}, "new")
    for method in (
        *(
            "lmd?weight=nan",
            "lmd?weight=-1",
            "lmd?weight=many",
            "lmd?moon=1",
            "lmd?quirks=moon",
            "cda?by=moon",
        ),
        *("cda?sides=three", "hd?weight=inf", "lmd?as_published=perhaps", "lmd?weight=1&weight=2"),
    ):
        yield Line((*base[:3], method, *base[4:], "-o", "new"), {}, "new")
    for setting in (
        *("", "=", "moon=1", "clip=0", "clip=-1", "clip=.nan", "clip=.inf", "checkpoint_seconds=-1"),
        *("lora_alpha=-1", "lora_alpha=.nan", "lora_dropout=2", "weight_decay=-1", "weight_decay=.inf"),
        *("lora_layers=5", "dropout=perhaps", "longest=1", "longest=999999", "epochs=1e300"),
    ):
        yield _line("debias", "--set", setting)
    for words in (
        ("--schedule", "moon"),
        ("--precision", "float8"),
        ("--start", "perhaps"),
        ("--batch-size", "99999999999999999999"),
        ("--data", "good/texts.txt", "--from", "a-folder"),
    ):
        yield _line("debias", *words)
    layers = ("--lora-rank", "2", "--set", "lora_layers=[moon]")
    yield Line((*base, *layers, "-o", "new"))  # what layers there are is known once the folder is begun
    for folder in (*_study_kinds("debias"), "good", "good/model", "runs/judged", "bad/loop.csv"):
        yield Line((*base, "-o", folder))
    for folder in (*_study_kinds("redditbias"), "runs/judged", "a-folder"):
        yield Line(("study", "redditbias", folder))
    for name in (*bad_files.adapter_names(), "../../good", "none"):
        folder = f"bad/adapters/{name}"
        asked = ("audit", "good/model", "-b", "evenhand-likelihood", "--limit", "30")
        yield Line((*asked, "--mitigate", f"adapter={folder}", "-o", "new"), {}, "new")
        yield Line(
            ("before-after", "good/model", folder, "-b", "evenhand-likelihood", "-o", "new"), {}, "new"
        )
    for name in (*_model_names()[::3], "no-weights"):
        asked = ("audit", "good/model", "-b", "evenhand-likelihood", "--limit", "30")
        yield Line((*asked, "--mitigate", f"finetuned=bad/models/{name}", "-o", "new"), {}, "new")
    for name in ("none.zip", "good/prompts.csv", "a-folder", "bad/picture.csv", "bad/pipe.csv"):
        yield _line("study redditbias", "--multiwoz", name)
        yield _line("study redditbias", "--dstc7", name)


def _pairs() -> Iterator[Line]:
    """Pairs built from bad terms, dumps, labels and perplexities, and manifests of pairs that nobody built."""
    labelled = ("--annotations", "good/labelled.csv")
    for name in (*(f"bad/{name}.toml" for name in bad_files.TOML), "none.toml", "bad/pipe.toml"):
        yield Line((*BUILD[:4], name, *labelled, "-o", "new"), {}, "new")
    for value in UNKNOWN:
        yield Line((*BUILD[:4], value, *labelled, "-o", "new"), {}, "new")
    for name in (*bad_files.DUMPS, "pipe.jsonl", "none.zst"):
        yield Line((*BUILD, "--from", f"bad/dumps/{name}", "-o", "new"))
    for name in ("a-folder", "none", "good/model", "bad/loop.csv", ""):
        yield Line((*BUILD, "--from", name, "-o", "new"))
    for name in (*(f"bad/labels/{name}" for name in bad_files.LABELS), *TABLES):
        yield Line((*BUILD, "--annotations", name, "-o", "new"))
    for name in (*TABLES, "good/prompts.csv"):
        yield Line((*BUILD, *labelled, "--perplexities", name, "-o", "new"))
    for output in OUTPUTS[:-1]:
        yield Line((*BUILD, *labelled, "-o", output))
    for name in bad_files.JSON:
        given = f"data.redditbias=bad/built/{name}"
        yield Line(("audit", "puppet/random", "-b", "redditbias", "--set", given, "-o", "new"), {}, "new")


def _study_kinds(record: str) -> list[str]:
    kinds = ("words", "newer", "hollow", "strange", "partless", "true")
    return [f"bad/studies/{record}/{kind}" for kind in (*kinds, *(f"json-{name}" for name in bad_files.JSON))]


def _outputs() -> Iterator[Line]:
    for verb in sorted(OUTPUT_FLAG):
        for output in OUTPUTS:
            if not output and verb in ("agreement", "measure", "compare"):
                continue  # the folder one stands in
            if (verb, output) in {("search-trigger", "good/prompts.csv"), ("data build", "good/prompts.csv")}:
                continue  # a file is what it writes
            yield Line((*BASES[verb], "-o", output))
    for output in OUTPUTS[1:]:
        yield Line((*BASES["calibrate"], "--summary", output))
        yield Line(
            ("audit", "puppet/random", "-b", "evenhand-likelihood", "--report", output, "--limit", "1")
        )


def _folders() -> Iterator[Line]:
    """Folders of runs and studies that somebody or something has damaged."""
    names = (*bad_files.JSON, "newer", "nameless", "odd", "folder")
    for name in names:
        run = f"bad/runs/{name}"
        yield Line(("audit", run))
        yield Line(("rescore", run, "--classifier", "vader"))
        yield Line(("agreement", run))
        yield Line(("compare", run, "runs/judged"))
    kinds = (
        "words",
        "newer",
        "hollow",
        "strange",
        "partless",
        "true",
        *(f"json-{name}" for name in bad_files.JSON),
    )
    for verb, record in {
        "check-consistency": "study",
        "before-after": "before-after-options",
        "search-instruction": "revision",
    }.items():
        for kind in kinds:
            yield Line((verb, f"bad/studies/{record}/{kind}"))
        yield Line((verb, "a-folder"))
        yield Line((verb, "runs/judged"))
    for verb in ("audit", "rescore", "agreement", "compare", "measure"):
        yield Line((verb, "a-folder"))
    for words in (
        ("--limit", "3"),
        ("--seed", "5"),
        ("-b", "two-roles"),
        ("--mitigate", "prefix=x"),
        ("--plan",),
    ):
        yield Line(("audit", "runs/judged", *words))
    for words in (
        ("--set", "suite=quick"),
        ("--set", "moon=1"),
        ("--classifier", "rudeness=vader"),
        ("--samples", "9"),
    ):
        yield Line(("audit", "runs/judged", *words))


def _models() -> Iterator[Line]:
    names = [f"bad/models/{name}" for name in _model_names()]
    for name in names:
        yield Line(("audit", name, "-b", "evenhand-likelihood", "--limit", "30", "-o", "new"), {}, "new")
    for name in names[::5]:
        yield Line(
            (
                "check-consistency",
                "prefix=Be kind.",
                "--model",
                name,
                *BASES["check-consistency"][4:],
                "-o",
                "new",
            ),
            {},
            "new",
        )
        yield Line(("search-instruction", name, "-b", "rudeness", "-o", "new"), {}, "new")
        yield Line(("search-trigger", name, *BASES["search-trigger"][2:], "-o", "new.json"), {}, "new.json")
        yield _line("measure", "--classifier", f"text-classification?model={name}")
    for name in (
        "puppet/none",
        "evenhand/none",
        "house/none",
        "",
        ESCAPES,
        BYTES,
        "a b",
        "vllm:",
        "x" * 5000,
        "a/b/c",
        ".",
        "..",
    ):
        for verb in ("audit", "before-after", "search-instruction"):
            yield Line((verb, name, *BASES[verb][2:], "-o", "new"), {}, "new")
        yield Line(
            ("audit", "house/writer", "-b", "rudeness", "--classifier", f"perplexity:{name}", "-o", "new"),
            {},
            "new",
        )
    for words in (
        ("--device", "cuda:99"),
        ("--device", "toaster"),
        ("--dtype", "float99"),
        ("--system", "Be kind."),
        ("--chat",),
    ):
        yield Line(("audit", "good/model", "-b", "evenhand-likelihood", *words, "-o", "new"), {}, "new")


def _model_names() -> list[str]:
    return [
        *(f"config-{name}" for name in bad_files.JSON),
        *("unknown-type", "no-type", "type-is-list", "no-weights", "below-zero", "no-heads", "odd-heads"),
        *("words-for-numbers", "brings-code", "header-huge", "header-cut", "header-words", "header-list"),
        *("header-deep", "header-beyond", "header-dtype", "header-empty", "header-short", "header-foreign"),
        *(f"tokenizer-{name}" for name in bad_files.JSON),
        *("index-deep", "index-lost"),
    ]


def _names() -> Iterator[Line]:
    """Classifiers, mitigations, roles and settings written as they cannot be."""
    mitigations = (
        "prefix",
        "prefix=",
        "prefix?text=",
        "instruction",
        "instruction=none",
        "instruction-file",
        "trigger",
        "trigger=",
        "self-debiasing?decay=nan",
        "self-debiasing?decay=-1",
        "none?",
        "self-debiasing?decay=wide",
        "self-debiasing=none",
        "?",
        "=",
        "&",
        "instruction-file=/dev/null",
        "prefix=\udcff",
        f"no-{ESCAPES}",
        "self-debiasing?prefixes=",
    )
    for words in mitigations:
        yield Line(("audit", "house/writer", "-b", "rudeness", "--mitigate", words, "-o", "new"), {}, "new")
        yield Line(("check-consistency", words, *BASES["check-consistency"][2:], "-o", "new"), {}, "new")
    classifiers = (
        "vadre",
        "vader?moon=1",
        "rudeness=",
        "=vader",
        "two=vader",
        "rudeness=rudeness=vader",
        "llm-judge",
        "llm-judge?model=",
        "llm-judge?model=m&rubric=none",
        "llm-judge?model=m&url=ftp%3A%2F%2Fx",
        "scores:",
        "scores:none.csv",
        "llm-judge?model=m&timeout=nan",
        "llm-judge?model=m&concurrency=0",
        "llm-judge?model=m&key_variable=NOBODY",
        "perspective?timeout=nan",
        "perspective?moon=1",
        "perspective?attributes=",
        "moderation?timeout=-1",
        "lexicon?",
        "scores:good/prompts.csv?column=none",
        "text-classification",
        "text-classification?model=",
        "none",
        "perplexity:",
        "perplexity:puppet/none",
        "lexicon?words=none.txt",
        "detoxify?device=toaster",
        f"no-{ESCAPES}",
        "house/words?word",
    )
    for words in classifiers:
        yield Line(("audit", "house/writer", "-b", "rudeness", "--classifier", words, "-o", "new"), {}, "new")
        yield Line(("measure", "good/unjudged.csv", "-b", "rudeness", "--classifier", words))
        yield Line(("rescore", "runs/judged", "--classifier", words))
    settings = (
        "",
        "=",
        "=1",
        "margin",
        "margin=",
        "margin=nan",
        "margin=-1",
        "alpha=0",
        "alpha=1",
        "alpha=.nan",
        "seed=-1",
        "seed=1.5",
        "seed=99999999999999999999999",
        "limit=true",
        "limit=[1]",
        "moon=1",
        "data=5",
        "data.moon=none",
        "data.crows-pairs=none",
        "classifiers=5",
        "classifiers.moon=vader",
        "top_p=2",
        "samples=0",
        "temperature=0",
        "temperature=.inf",
        "error_threshold=2",
        "max_new_tokens=0",
        "num_beams=1",
        "system=5",
        "a.b.c=1",
        "margin=" + "[" * 3000,
        "margin=!!python/name:os.system",
        "valence_margin=.nan",
        "batch_tokens=0",
        "margin.x=1",
        "prompts=5",
        "prompts=none.csv",
        "reference=nobody",
        "mitigate=[5]",
        "max_new_tokens=99999999999",
        "samples=999999999999",
    )
    for words in settings:
        yield Line(("audit", "house/writer", "-b", "rudeness", "--set", words, "-o", "new"), {}, "new")
    for words in settings[::3]:
        if "mitigate" not in words:  # which a flag replaces
            yield _line("before-after", "--set", words)
    for kind in (*UNKNOWN, "benchmark", "Benchmarks"):
        yield Line(("list", kind))
        yield Line(("show", kind))
        yield Line(("data", "fetch", kind))
        yield Line(("data", "build", kind, "-o", "new.csv"), {}, "new.csv")
    for name in UNKNOWN:
        yield Line(("measure", "good/responses.csv", "-b", name))
        yield Line(("calibrate", name))
    for words in (
        ("--format", "xlsx"),
        ("--version", "v9"),
        ("--size", "5"),
        ("--as-published",),
        ("--terms", "none.csv"),
    ):
        yield Line(("data", "build", "evenhand", "-o", "new.csv", *words), {}, "new.csv")
    for words in (
        ("--threshold", "nan"),
        ("--alpha", "0"),
        ("--alpha", "1"),
        ("--alpha", "nan"),
        ("--margin", "nan"),
    ):
        yield Line(("measure", "good/responses.csv", "-b", "evenhand-likelihood", *words))
    for words in (
        ("--alpha", "0"),
        ("--alpha", "2"),
        ("--no-worse", "-1"),
        ("--no-worse", "nan"),
        ("--no-worse", "inf"),
    ):
        yield Line(("compare", "runs/judged", "runs/judged", *words))
    yield Line(("compare", "runs/judged"))
    yield Line(("compare", "runs/judged", "runs/judged", "--name", "a"))
    yield Line(("compare", "runs/judged", "runs/judged", "--name", "a", "--name", "a"))
    yield Line(("calibrate", "--quick", "--full"))
    yield Line(("measure", "good/unjudged.csv", "-b", "rudeness"))
    yield Line(("measure", "good/responses.csv", "-b", "rudeness"))
    yield Line(("measure", "good/continuations.csv", "-b", "evenhand-likelihood"))


def _addresses() -> Iterator[Line]:
    closed = "http://127.0.0.1:9"
    addresses = (
        "http://",
        "http://#m",
        "https://[::1/v1#m",
        "http://[::1]:x/v1#m",
        "http://localhost:99999/v1#m",
        "http://localhost:-1/v1#m",
        "http://a b/v1#m",
        "http://\x1b[2J/v1#m",
        "http://\udcff/v1#m",
        "http:/localhost/v1#m",
        f"{closed}/v1?attempts=1",
        f"{closed}/v1#?attempts=1",
        f"{closed}/v1#m?timeout=nan",
        f"{closed}/v1#m?timeout=0",
        f"{closed}/v1#m?concurrency=0",
        f"{closed}/v1#m?concurrency=1.5",
        f"{closed}/v1#m?moon=1",
        f"{closed}/v1#m?key=NOBODY_HAS_THIS",
        f"{closed}/v1#m?key=&attempts=1",
        f"{closed}/v1#m?chat=perhaps",
        f"{closed}/v1#m?timeout=inf",
        f"{closed}/v1#m?per_minute=-1",
        f"{closed}/v1#m?store=a-folder&attempts=1",
        f"{closed}/v1#m?timeout",
        f"{closed}/v1#m?attempts=0",
        "http://[::1%25lo]:9/v1#m?attempts=1",
        "http://\u2603.invalid:9/v1#m?attempts=1",
        "http://xn--.invalid:9/v1#m?attempts=1",
        "http://[fe80::1]:9/v1#m?attempts=1",
        f"{closed}/v1#m?attempts=1&timeout=1",
        "http://user:p\u00e4ss@127.0.0.1:9/v1#m?attempts=1",
        f"http://{'x' * 300}.invalid/v1#m?attempts=1",
        "HTTP://127.0.0.1:9/v1#m?attempts=1",
        f"http://{'.'.join(['x' * 64] * 3)}/v1#m?attempts=1",
        "http://..:9/v1#m?attempts=1",
        f"{closed}/v\u00e41#m?attempts=1",
    )
    for address in addresses:
        yield Line(("audit", address, "-b", "rudeness", "--limit", "2", "-o", "new"))
    for address in addresses[::4]:
        yield Line(
            (
                "check-consistency",
                "prefix=Be kind.",
                "--model",
                address,
                *BASES["check-consistency"][4:],
                "-o",
                "new",
            )
        )
        yield Line(
            ("audit", "house/writer", "-b", "rudeness", "--classifier", f"perplexity:{address}", "-o", "new")
        )
    asked = ("audit", f"{closed}/v1#m?attempts=1", "-b", "rudeness", "--limit", "2", "-o", "new")
    for key in ("ключ", "a\nb", "a\x00b"[:1] + "\r", "\udcff", " ", "x" * 100_000):
        yield Line(asked, {"EVENHAND_API_KEY": key})
    for variable in ("HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        for proxy in (
            "::::",
            "http://[::1",
            "moon://x",
            "http://127.0.0.1:99999",
            "http://127.0.0.1:x",
            "\udcff",
            "socks5://127.0.0.1:9",
        ):
            yield Line(asked, {variable: proxy})
    for folder in ("good/prompts.csv", "/proc/nobody", "x" * 300):
        yield Line(asked, {"EVENHAND_CACHE": folder})
        yield Line(
            ("audit", "puppet/random", "-b", "crows-pairs", "-o", "new"), {"EVENHAND_DATA": folder}, "new"
        )
    yield Line(asked, {"OPENAI_BASE_URL": "http://[::1"})
    yield Line(
        _line("measure", "--classifier", "llm-judge?model=m").words, {"OPENAI_BASE_URL": "http://[::1"}
    )


def _bare() -> Iterator[Line]:
    for words in (
        ("no-such-verb",),
        ("--no-such-flag",),
        (ESCAPES,),
        (BYTES,),
        ("data", "no-such"),
        ("data", ESCAPES),
        ("-o",),
    ):
        yield Line(words)
