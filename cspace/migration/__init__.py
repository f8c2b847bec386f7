"""Brings files home from a legacy volume or an export: a plan for each first, then every byte."""
