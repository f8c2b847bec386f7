"""One frozen Settings from files, environment and flags; each value knows its source."""
