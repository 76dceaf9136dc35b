"""The studies of the papers as templates: questions, onboarding, rules and survey, without items."""

from typing import Any

TEMPLATES = ("acute", "regard", "robbie", "redditbias", "labels")


def template(name: str) -> dict[str, Any]:
    """The content of a study file without items. Raises UsageError for an unknown name."""
    raise NotImplementedError
