#!/usr/bin/env bash
# Fetch what embeds texts into this user's cache, as `cspace notes reindex` does: 84 MB, once.
#
# Needs .venv: `make model` makes it first.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib/bootstrap/apt.sh
. "$here/apt.sh"

say "looking for the model (84 MB where it is not there)"
"$here/../../.venv/bin/python" "$here/fetch_model.py" ||
    fail "the model could not be fetched" "see that pypi.org answers, then run: make model"
