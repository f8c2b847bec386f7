"""An instance: one named devcontainer project of ours, with its own clone of the repository."""
