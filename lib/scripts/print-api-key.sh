#!/usr/bin/env bash
# Claude Code's apiKeyHelper: asked again while it runs, so a rotated key reaches a running instance.
set -euo pipefail

cat /run/secrets/anthropic_api_key
