"""Measures what the README claims: ratios against a peer or a lower bound in the same run."""
