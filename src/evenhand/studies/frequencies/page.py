"""frequencies.html: the whole count on one page."""

from evenhand.studies.frequencies.view import FrequencyView


def render_html(view: FrequencyView) -> str:
    """The page: one HTML document that needs no network, every text escaped."""
    raise NotImplementedError
