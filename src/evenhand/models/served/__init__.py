"""Models behind an OpenAI-compatible address."""
