"""Finds what looks like a secret in a text."""
