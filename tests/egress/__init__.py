"""Tests of what may leave an instance."""
