"""Render pages: the template engine with the filters, style and script that all pages share."""

import base64
import hashlib
from pathlib import Path
from typing import Any

from markupsafe import Markup

from evenhand.reports import figures, wording
from evenhand.reports.charts import sunset_css
from evenhand.reports.glossary import GLOSSARY

TEMPLATES = Path(__file__).parent / "templates"
UNFOLD_FOR_PRINT = (
    'addEventListener("beforeprint",()=>'
    'document.querySelectorAll("details:not(.long)").forEach(d=>d.open=true))'
)


def rendered(template: Path, **values: Any) -> str:
    """Return an HTML page from a template; the page contains its styles and drawings and loads nothing.

    Every text is escaped and has no control characters. `template` is a file. It may include files of its
    folder and of `templates/`. The content security policy forbids all requests and all scripts except one,
    which unfolds sections before printing.
    """
    import jinja2

    environment = jinja2.Environment(
        finalize=_clean_value,
        loader=jinja2.FileSystemLoader([template.parent, TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        capital=lambda text: text[:1].upper() + text[1:],
        interval=wording.interval,
        label=wording.label,
        number=wording.number,
        probability=wording.probability,
        signed=wording.signed,
        times=wording.times,
    )
    digest = base64.b64encode(hashlib.sha256(UNFOLD_FOR_PRINT.encode()).digest()).decode()
    return environment.get_template(template.name).render(
        **values,
        symbols=wording.SYMBOLS,
        kinds=figures.KINDS,
        share=wording.share,
        glossary=GLOSSARY,
        style=(TEMPLATES / "report.css").read_text(encoding="utf-8") + sunset_css(),
        script=UNFOLD_FOR_PRINT,
        script_hash=f"sha256-{digest}",
    )


def _clean_value(value: Any) -> Any:
    """Return a value as it is put into a page: texts have no control characters, which external names may contain."""
    if not isinstance(value, str):
        return value
    text = wording.visible(value)
    return Markup(text) if isinstance(value, Markup) else text
