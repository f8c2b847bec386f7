"""Commit notes as git keeps them: one blob for each annotated object, below any fan-out."""
