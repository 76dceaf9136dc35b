"""Measures on responses that the user already has."""
