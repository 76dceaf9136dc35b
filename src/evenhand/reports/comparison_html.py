"""compare.html: models beside each other on one page that needs no network."""

from evenhand.reports.comparison import ComparisonReport
from evenhand.reports.comparison_figures import outcomes, table_of_models
from evenhand.reports.page import rendered


def render_comparison_html(report: ComparisonReport) -> str:
    """The comparison as one HTML document: styles and drawings inside, every text escaped."""
    columns, rows = table_of_models(report)
    names = tuple(
        dict.fromkeys(name for model in report.models for name, _, _ in (*model.quality, *model.cost))
    )
    told = [{name: (value, unit) for name, value, unit in (*m.quality, *m.cost)} for m in report.models]
    return rendered(
        "compare.html.j2",
        report=report,
        sections=outcomes(report),
        columns=columns,
        rows=rows,
        quality=(names, list(zip(report.names, told, strict=True))),
    )
