"""Find text and names that are hard to read, and check that their number stays below the limits.

    python tools/plain.py --check                 # what `make check` and CI run
    python tools/plain.py docs src/evenhand/cli   # show examples in some folders

The script reads Markdown, templates, docstrings, strings, comments and the names of functions and classes. It knows
phrases that readers had to read twice, sentences of more than 32 words, fragments that start with "Of" or "Whose", and
names that are bare participles, adverbs or prepositions. A text can pass and still be hard to read.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

LIMITS = {"docs": 1.0, "string": 1.0, "template": 3.0, "docstring": 1.0, "comment": 2.0}
"""Largest number of findings per 1,000 words, by kind of text."""
MOST_NAMES = 324
"""Largest number of hard names; to be lowered as modules are renamed."""
LONGEST_SENTENCE = 32
SHORTEST_TEXT = 4  # words; shorter strings and comments are keys and markers
DEFAULT_PATHS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs", "src", "perf")

PHRASES = {
    r"\b(gone|goes|go|going) on with\b": "resume",
    r"\bon going on\b": "when resuming",
    r"\banew\b": "again, re-",
    r"\bbeside\b": "compared with, next to, in addition to",
    r"\bheld against\b": "compared with",
    r"\b(is|are|was|were|be) told\b": "shown, reported, passed",
    r"\btold apart\b|\btell\w* apart\b": "distinguish",
    r"\b(tells|told|telling) (of|what|how|whether|by|that)\b": "shows, reports",
    r"\bsays? (of|what|how|who|whether|so)\b": "states, describes",
    r"\b(is|are) said\b": "stated, shown",
    r"\b(stands?|lies|lie) (in|beside|there|below|above|behind|at)\b": "is in, see",
    r"\blikelier\b": "more likely",
    r"\blooked at\b": "tested, examined",
    r"\bwould have been found\b|\bwould find\b|\bcould have been (seen|found)\b": "minimum detectable effect",
    r"\bin truth\b|\bknown truth\b": "true value, ground truth, simulated data",
    r"\bput before\b|\bbefore people\b": "show to annotators",
    r"\bpeople as judges\b": "human evaluation",
    r"\bas far as\b": "if, where, to the extent that",
    r"\bwho(m|se)?ever\b|\bwhatever\b": "anyone who, the user",
    r"\bnobody\b": "no group, no user",
    r"\bof which (no|none|nothing)\b|\bof whom (no|none|nothing)\b": "a full clause",
    r"\bfor the time\b|\bby the clock\b": "temporarily; wall-clock",
    r"\bthe other way round\b": "vice versa",
    r"\bof (yours|theirs|ours|mine|its own|one's own)\b": "your, custom",
    r"\bmore than one would\b|\bwhat is nowhere\b": "rewrite",
    r"\b(is|are) no (number|part|target|proof|list|table|text|verdict|failure|history|file|folder)\b": "is not a",
    r"\bso many\b": "a number of, N",
    r"\bone by one\b": "individually",
    r"\bover all\b": "overall",
    r"\bwhere (nothing|nobody|none)\b": "if no",
}
STARTS = "Of|Whose|Whom|(By|From|With|To|At|Among) which|In place of|None where|No [a-z]+, but"
FRAGMENT = re.compile(rf"^({STARTS})\b")
LOOSE_WORDS = frozenset(
    re.findall(
        "[a-z]+",
        "of at by with from to in on as than there here how what who whom whose which now then anew apart together "
        "alone beside behind before after above below within without again once each other others some any all none "
        "both most least so far yet ever else like told said shown drawn written held kept left given taken known seen "
        "found spoken chosen begun gone laid met put cut made done lost won sent asked judged counted named joined "
        "packed typed listed planned wanted opened closed reached placed plain tidy ready innocent whole",
    )
)
LOOSE_ENDINGS = frozenset("of at by with from to in on as than told said beside".split())  # noqa: SIM905
NOT_PARTICIPLES = frozenset(
    "embed need feed seed speed exceed succeed proceed bed red shared embedded nested".split()  # noqa: SIM905
)


def split_words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z][A-Za-z'-]*", text)


def markdown_paragraphs(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each paragraph of prose, without code, tables, headings and link targets."""
    text = re.sub(r"```.*?```", lambda block: "\n" * block[0].count("\n"), source, flags=re.DOTALL)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`\n]*`", " X ", text))
    lines = ["" if line.lstrip().startswith(("|", "#", "!", "<")) else line for line in text.splitlines()]
    start = 0
    for number, line in enumerate([*lines, ""]):
        if not line.strip():
            if number > start:
                yield start + 1, "\n".join(lines[start:number])
            start = number + 1


def template_text(source: str) -> str:
    markup = r"<style.*?</style>|<script.*?</script>|\{#.*?#\}|\{[{%].*?[%}]\}|<[^>]+>"
    return re.sub(markup, " ", source, flags=re.DOTALL)


def python_texts(source: str) -> Iterator[tuple[str, int, str]]:
    """Yield kind, line and text of docstrings (without examples), longer strings and comments."""
    tree, docstrings = ast.parse(source), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            text = (
                first.value if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else None
            )
            if text is not None and isinstance(text.value, str):
                docstrings.add(id(text))
                yield "docstring", first.lineno, re.split(r"\n\s*>>>", text.value)[0]
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            text = node.value
        if len(split_words(text)) >= SHORTEST_TEXT:
            yield "string", node.lineno, text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and len(split_words(token.string)) >= SHORTEST_TEXT:
            yield "comment", token.start[0], token.string.lstrip("# ")


def is_hard_name(name: str) -> bool:
    """Return True for a name that is or ends with a bare participle, adverb or preposition."""
    parts = [part.lower() for part in re.findall(r"[a-z]+|[A-Z][a-z]*", name.strip("_"))]
    if not parts or name.startswith("__"):
        return False
    if len(parts) > 1:
        return parts[-1] in LOOSE_ENDINGS
    only = parts[0]
    return only in LOOSE_WORDS or (only.endswith("ed") and only not in NOT_PARTICIPLES and len(only) > 4)


def find_in_text(kind: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield what is hard to read in a text, and where: (description, excerpt)."""
    flat = " ".join(text.split())
    for pattern, better in PHRASES.items():
        for found in re.finditer(pattern, flat, flags=re.IGNORECASE):
            excerpt = flat[max(0, found.start() - 50) : found.end() + 50]
            yield f"{found[0].lower()!r} -> {better}", excerpt
    for sentence in re.split(r"(?<=[.!?;])\s+", flat):
        if len(split_words(sentence)) > LONGEST_SENTENCE:
            yield f"sentence of more than {LONGEST_SENTENCE} words", sentence[:110]
    if kind in ("string", "docstring") and FRAGMENT.match(flat):
        yield "fragment", flat[:110]


def texts_of(path: Path) -> Iterator[tuple[str, int, str]]:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from (("docs", line, text) for line, text in markdown_paragraphs(source))
    elif path.suffix == ".j2":
        yield "template", 1, template_text(source)
    elif path.suffix == ".py":
        yield from python_texts(source)


def names_of(path: Path) -> Iterator[tuple[int, str]]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, kinds) and is_hard_name(node.name):
            yield node.lineno, node.name


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", help="files or folders; default: everything")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is exceeded")
    parser.add_argument("--examples", type=int, default=3, help="examples per finding (default: 3)")
    given = parser.parse_args()
    command = ["git", "ls-files", *(given.paths or DEFAULT_PATHS)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    count: Counter[tuple[str, str]] = Counter()
    sizes: Counter[str] = Counter()
    examples: dict[tuple[str, str], list[str]] = defaultdict(list)

    def note(kind: str, what: str, place: str, excerpt: str) -> None:
        count[kind, what] += 1
        if len(examples[kind, what]) < given.examples:
            examples[kind, what].append(f"{place}: {excerpt}")

    for path in map(Path, listed):
        if path.suffix not in (".md", ".j2", ".py") or not path.is_file():
            continue
        for kind, line, text in texts_of(path):
            sizes[kind] += len(split_words(text))
            for what, excerpt in find_in_text(kind, text):
                note(kind, what, f"{path}:{line}", excerpt)
        if path.suffix == ".py":
            for line, name in names_of(path):
                note("name", "bare participle, adverb or preposition", f"{path}:{line}", name)

    if not given.check:
        for (kind, what), number in count.most_common(60):
            print(f"{number:6} {kind:10} {what}")
            for example in examples[kind, what]:
                print(f"           {example}")
    findings = Counter(
        {kind: sum(n for (k, _), n in count.items() if k == kind) for kind in [*sizes, "name"]}
    )
    rates = {kind: 1000 * findings[kind] / size for kind, size in sizes.items() if size}
    print("Findings per 1,000 words: " + ", ".join(f"{kind} {rate:.1f}" for kind, rate in rates.items()))
    print(f"Hard names: {findings['name']}")
    exceeded = [
        f"{kind}: {rate:.1f} per 1,000 words, at most {LIMITS[kind]:g} are allowed"
        for kind, rate in rates.items()
        if rate > LIMITS[kind]
    ]
    if findings["name"] > MOST_NAMES:
        exceeded.append(f"names: {findings['name']}, at most {MOST_NAMES} are allowed")
    if given.check and exceeded:
        print("Too much text is hard to read. " + "; ".join(exceeded), file=sys.stderr)
        print("Run `python tools/plain.py PATH` for the places.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
