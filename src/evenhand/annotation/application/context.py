"""The context of every page: database, signatures, templates, clock and rate limits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from evenhand.annotation.application.drafts import Drafts
from evenhand.annotation.application.protection import Address, Limiter, Limits, RequestRefused, Signatures
from evenhand.annotation.application.static_files import get_static_path
from evenhand.annotation.application.wording import paragraphs, shown_text
from evenhand.annotation.store import Store

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Context:
    """The context of one application; `get_context(request)` returns it."""

    store: Store
    address: Address
    signatures: Signatures
    templates: Environment
    limits: Limits = field(default_factory=Limits)
    limiter: Limiter = field(default_factory=Limiter)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    drafts: Drafts = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "drafts", Drafts(self.clock))

    def page(
        self, template: str, *, status: int = 200, form_token: str | None = None, **values: Any
    ) -> HTMLResponse:
        """Return a page. form_token: token of the page's session (`sessions.py`), if it has a form."""
        study = self.store.study
        english = study.language.lower().startswith("en")  # the application's own texts are English
        text = self.templates.get_template(template).render(
            study=study,
            form_token=form_token,
            page_language=study.language if english else "en",
            own_language={} if english else {"lang": study.language},
            **values,
        )
        return HTMLResponse(text, status)

    def refusal(self, refused: RequestRefused) -> HTMLResponse:
        """Return the page that states why a request is refused."""
        page = self.page("refused.html.j2", status=refused.status, refused=refused)
        if refused.wait:
            page.headers["Retry-After"] = str(int(refused.wait) + 1)
        return page


def get_context(request: Request) -> Context:
    """Return the context of the application that handles a request."""
    context = request.app.state.context
    assert isinstance(context, Context)
    return context


def templates() -> Environment:
    """Return the template engine: it escapes all values, and unknown names are errors. Finds admin templates too."""
    environment = Environment(
        loader=FileSystemLoader([HERE / "templates", HERE / "admin" / "templates"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        style=get_static_path("style.css"),
        admin_style=get_static_path("admin.css"),
        icon=get_static_path("icon.svg"),
    )
    environment.filters.update(shown=shown_text, paragraphs=paragraphs)
    return environment
