"""Memories that belong to commits, in git notes."""
