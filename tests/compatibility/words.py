"""Return the words that a reader sees on a page or in a terminal, without what differs between two machines."""

import re
from html.parser import HTMLParser

BLOCKS = {
    "p", "div", "section", "table", "tr", "caption", "h1", "h2", "h3", "h4", "li", "ul", "ol", "dl", "dt", "dd",
    "details", "summary", "figure", "figcaption", "header", "footer", "main", "nav", "body", "svg", "text", "pre",
    "article", "title", "label", "form", "fieldset", "legend", "button", "blockquote",
}  # fmt: skip
"""Elements that begin a new line."""
CELLS = {"td", "th"}
UNSEEN = {"script", "style", "template"}
SHOWN_ATTRIBUTES = ("aria-label", "title", "alt", "placeholder")
"""Attributes that a reader sees or hears."""
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
PACKAGES = "python|evenhand|numpy|scipy|polars|torch|transformers|tokenizers|safetensors|peft"
COSTS = r"seconds\w*|batches|generation|responses|measures|pid|peak_memory_bytes|tokens_per_second"
MASKS = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?(\.\d+)?(Z|\+00:00)?)?( UTC)?", "<date>"),
    (rf"\b\d{{1,2}} ({MONTHS}) \d{{4}}", "<date>"),
    (r"\d+(\.\d+)? (ms|s|seconds?|minutes?|min|hours?|h)\b", "<time>"),
    (r"\d[\d,.]* (tokens )?(a|per) second", "<speed>"),
    (r"\d[\d,.]* (kB|MB|GB|KiB|MiB|GiB|bytes)\b", "<size>"),
    (rf"\b({PACKAGES}) v?\d+[\w.+]*", r"\1 <version>"),
    (r"\d[\d,.]* (requests|tokens|texts|documents)/s", "<speed>"),
    (r"Linux-[\w.+-]+|macOS-[\w.+-]+|Windows-[\w.+-]+", "<platform>"),
    (r"\d+ processors?", "<processors>"),
    (rf"(?m)^ *\| *((\S*\.)?({COSTS})) *\| .*$", r"| \1 | <cost>"),
    (r"\d+\.\d{9,}(e-?\d+)?", "<unrounded>"),
)  # fmt: skip
"""What is masked in each line: a pattern, and what replaces it."""


class Words(HTMLParser):
    """Collect the visible words of a page, one line for each block or row of a table."""

    def __init__(self, page: str):
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.unseen = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.unseen += tag in UNSEEN
        self.parts.append("\n" if tag in BLOCKS else " | " if tag in CELLS else "")
        self.parts += [f"[{value}]" for name, value in attrs if name in SHOWN_ATTRIBUTES and value]

    def handle_endtag(self, tag: str) -> None:
        self.unseen -= tag in UNSEEN
        self.parts.append("\n" if tag in BLOCKS else "")

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.parts.append(re.sub(r"\s+", " ", data))


def masked(text: str) -> str:
    """Return the lines of a text without dates, times, sizes and versions, their white space made the same."""
    for pattern, replacement in MASKS:
        text = re.sub(pattern, replacement, text)
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line and line != "|")


def page_words(page: str) -> str:
    """Return the visible words of a page."""
    return masked("".join(Words(page).parts))


def terminal_words(output: str) -> str:
    """Return the words of a terminal output, without the lines of tables and frames."""
    return masked(re.sub("[─━╭╮╰╯│┃┏┓┗┛┡┩╇╈┼├┤┬┴]+", " ", output))
