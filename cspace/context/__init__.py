"""Project context: what a project's people decided and what its agents found out."""
