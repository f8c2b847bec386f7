"""A devcontainer for every coding agent, and one memory for all of them."""
