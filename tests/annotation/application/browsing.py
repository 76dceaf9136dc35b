"""A browser without a screen: pages parsed by Python's own HTML parser, forms sent as browsers send them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from fastapi.testclient import TestClient

from evenhand.annotation.application import application, invite_link
from evenhand.annotation.store import Store, people
from tests.annotation.application.clocks import Clock

ADDRESS = "http://127.0.0.1:8000"
VOID = {"input", "meta", "link", "br", "hr", "img"}


@dataclass
class Form:
    action: str = ""
    fields: list[tuple[str, str]] = field(default_factory=list)
    """What would be sent if nothing was touched."""
    offered: dict[str, list[str]] = field(default_factory=dict)
    """Values of radio buttons, check boxes, options and buttons."""
    free: set[str] = field(default_factory=set)
    """Fields to write into."""


class Page(HTMLParser):
    """A page as it was answered: its forms, its headings, the texts of its elements by class."""

    def __init__(self, response: Any):
        super().__init__(convert_charrefs=True)
        self.status, self.headers, self.source = response.status_code, response.headers, response.text
        self.url = str(response.url)
        self.forms: list[Form] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.links: list[str] = []
        self.aside: list[str] = []
        """Values of the buttons outside a form that send it."""
        self.texts: dict[str, list[str]] = {}
        self._open: list[tuple[str, str, list[str]]] = []
        self._select = ""
        self.feed(self.source)
        self.text = " ".join(" ".join(self.texts.get("body", [])).split())

    @property
    def h1(self) -> str:
        return " ".join(self.texts["h1"][0].split())

    @property
    def form(self) -> Form:
        assert len(self.forms) == 1
        return self.forms[0]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.tags.append((tag, said))
        if tag == "form":
            self.forms.append(Form(said.get("action") or ""))
        if tag == "a":
            self.links.append(said.get("href") or "")
        if tag == "input":
            self._input(said)
        if tag == "select":
            self._select = said["name"] or ""
        if tag == "option":
            self.forms[-1].offered.setdefault(self._select, []).append(said["value"] or "")
            if "selected" in said:
                self.forms[-1].fields.append((self._select, said["value"] or ""))
        if tag == "button" and said.get("form"):
            self.aside.append(said.get("value") or "")
        elif tag == "button" and said.get("name"):
            self.forms[-1].offered.setdefault(said["name"] or "", []).append(said.get("value") or "")
        if tag not in VOID:
            name = (said.get("name") or "") if tag == "textarea" else (said.get("class") or "")
            self._open.append((tag, name, []))

    def _input(self, said: dict[str, str | None]) -> None:
        name, value, kind = said.get("name") or "", said.get("value") or "", said.get("type", "text")
        if kind in ("radio", "checkbox"):
            self.forms[-1].offered.setdefault(name, []).append(value)
        if kind not in ("radio", "checkbox") or "checked" in said:
            self.forms[-1].fields.append((name, value))
        if kind in ("text", "number"):
            self.forms[-1].free.add(name)

    def handle_data(self, data: str) -> None:
        for _, _, texts in self._open:
            texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1][0] == tag, (tag, self._open[-1])
        _, names, texts = self._open.pop()
        text = "".join(texts)
        if tag == "textarea":
            self.forms[-1].fields.append((names, text.removeprefix("\n")))
            self.forms[-1].free.add(names)
        for name in {tag, *(names.split() if tag != "textarea" else ())}:
            self.texts.setdefault(name, []).append(text)


class Visitor:
    """Somebody with a browser of their own."""

    def __init__(self, store: Store, address: str = ADDRESS, **more: Any):
        self.store, self.address = store, address
        self.clock = more.pop("clock", None) or Clock()
        self.app = more.pop("app", None) or application(store, address=address, clock=self.clock, **more)
        self.client = TestClient(self.app, base_url=address, raise_server_exceptions=False)
        self.page: Page

    def another(self) -> "Visitor":
        """Somebody else, at the same application."""
        return Visitor(self.store, self.address, clock=self.clock, app=self.app)

    def open(self, path: str, **more: Any) -> Page:
        self.page = Page(self.client.get(path, **more))
        return self.page

    def post(self, path: str, fields: Any, **more: Any) -> Page:
        headers = {"origin": self.address, "referer": self.address + "/"} | more.pop("headers", {})
        pairs = list(fields.items()) if isinstance(fields, dict) else list(fields)
        sent: dict[str, list[str]] = {}
        for name, value in pairs:
            sent.setdefault(name, []).append(value)
        self.page = Page(self.client.post(path, data=sent, headers=headers, **more))
        return self.page

    def send(self, answers: dict[str, str] | None = None, **more: Any) -> Page:
        """Fill the page's form in and send it; only what it offers can be chosen."""
        form, answers = self.page.form, answers or {}
        for name, value in answers.items():
            assert name in form.free or value in form.offered.get(name, ()), (name, value, form)
        fields = [(name, value) for name, value in form.fields if name not in answers]
        return self.post(form.action or self.page.url, [*fields, *answers.items()], **more)

    def link_of(self, invite: str) -> str:
        return invite_link(self.store, self.address, invite).removeprefix(self.address)

    def come(self, invite: str | None = None, query: str = "") -> Page:
        """By a personal link, made now unless one is given."""
        if invite is None:
            invite = people.make_invites(self.store, 1, self.clock())[0].id
        self.link = self.link_of(invite) + query
        page = self.open(self.link)
        return self.send() if page.forms else page
