"""What Claude Code calls at events of a session; starts and ends in milliseconds."""
