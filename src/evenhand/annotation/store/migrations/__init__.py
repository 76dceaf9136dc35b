"""Versions of the database, each made of the one before."""
