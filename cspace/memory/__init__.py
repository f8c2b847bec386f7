"""Curated memory: short rules that a person approved, in five scopes."""
