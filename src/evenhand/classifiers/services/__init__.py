"""Classifiers that send texts to a service: Perspective, moderation services, and language models with a rubric."""
