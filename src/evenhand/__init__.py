"""evenhand: measures, explains and mitigates social bias in language models."""

__version__ = "0.1.0"
