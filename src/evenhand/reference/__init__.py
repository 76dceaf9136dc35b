"""Worlds and models with a known, planted bias, and the embedded default model."""
