"""Worlds and models whose bias is planted and known; the embedded default model."""
