"""What a page is made of: its tags in order, its texts, its attributes, its tables, and mistakes of nesting."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "line", "rect", "circle", "path", "img", "hr"}


class Outline(HTMLParser):
    """Collects tags, texts by section, and mistakes of nesting."""

    def __init__(self, page):
        super().__init__()
        self.stack, self.wrong, self.tags, self.text, self.attributes = [], [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *a) for a in attrs]
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.stack or self.stack.pop() != tag:
            self.wrong.append((tag, self.getpos()))

    def handle_data(self, data):
        self.text.append(data)


class Tables(HTMLParser):
    """The rows of every table as lists of texts, by the table's caption, else its heads."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.rows, self.cell, self.caption = {}, [], None, None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.rows, self.caption = [], None
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th", "caption"):
            self.cell = ""

    def handle_endtag(self, tag):
        if tag == "caption":
            self.caption, self.cell = self.cell, None
        elif tag in ("td", "th"):
            self.rows[-1].append(" ".join(self.cell.split()))
            self.cell = None
        elif tag == "table":
            self.tables.setdefault(self.caption or " | ".join(self.rows[0]), self.rows)

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data
