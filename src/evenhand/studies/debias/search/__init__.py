"""Choosing among trainings: what is varied, each trial, and which one becomes the model."""
