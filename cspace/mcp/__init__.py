"""What models see: MCP tools over the same core calls that the command line makes."""
