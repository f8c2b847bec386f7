"""Claude's own memory: read, searched and examined, never written."""
