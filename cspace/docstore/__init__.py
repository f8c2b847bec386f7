"""Documents: markdown files with front matter, kept without losing a byte."""
