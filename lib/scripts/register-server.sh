#!/usr/bin/env bash
# Have Claude Code register the context server for its user: `register-server.sh root|plain`.
#
# root   as documented.
# plain  for a workspace whose own .mcp.json names the server as `cspace init` does: Claude Code warns
#        when scopes define one name with other arguments, and does not compare the environment.
set -euo pipefail

case $1 in
    root) claude mcp add --scope user cspace-context -- cspace context-server --root /workspace ;;
    plain) claude mcp add --scope user cspace-context --env CLAUDE_PROJECT_DIR=/workspace -- cspace context-server ;;
    *)
        printf 'register-server.sh: no way to register is called %s\n' "$1" >&2
        exit 2
        ;;
esac
