#!/usr/bin/env bash
# The `claude` on PATH: hands Claude Code the instance's login, which is a file and never in the
# container's own environment, then becomes it.
set -euo pipefail

token=/run/secrets/claude_code_oauth_token
if [[ -z ${CLAUDE_CODE_OAUTH_TOKEN:-} && -r $token && -s $token ]]; then
    CLAUDE_CODE_OAUTH_TOKEN=$(<"$token")
    export CLAUDE_CODE_OAUTH_TOKEN
fi
exec /opt/claude/claude "$@"
