#!/usr/bin/env bash
# Have Claude Code register a server of ours for its user: `register-server.sh root|plain|memory|notes`.
#
# root    the context server as documented.
# plain   the same, for a workspace whose own .mcp.json names it as `cspace init` does: Claude Code warns
#         when scopes define one name with other arguments, and does not compare the environment.
# memory  the server of curated memory. It finds its scopes by the instance's environment.
# notes   the server of commit notes. It finds the repository, and the worktree, by where Claude Code works.
set -euo pipefail

case $1 in
    root) claude mcp add --scope user cspace-context -- cspace context-server --root /workspace ;;
    plain) claude mcp add --scope user cspace-context --env CLAUDE_PROJECT_DIR=/workspace -- cspace context-server ;;
    memory) claude mcp add --scope user cspace-memory -- cspace context-server --toolset memory ;;
    notes) claude mcp add --scope user cspace-notes -- cspace context-server --toolset notes ;;
    *)
        printf 'register-server.sh: no way to register is called %s\n' "$1" >&2
        exit 2
        ;;
esac
