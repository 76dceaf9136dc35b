"""Classifiers behind a network: Perspective, moderation services, language models that judge by a rubric."""
