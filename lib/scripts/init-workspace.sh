#!/usr/bin/env bash
# Make git work in /workspace for the container's user. Idempotent; the workspace itself stays untouched.
#
# Environment: CSPACE_GIT_NAME, CSPACE_GIT_EMAIL   whose commits these are; unset: not configured here
set -euo pipefail

workspace=/workspace
helper=/usr/local/lib/cspace/git-credential-cspace.sh

if [[ ! -w $workspace ]]; then
    printf 'cspace: %s is not writable for uid %s\n' "$workspace" "$(id -u)" >&2
    exit 1
fi

# Away from the workspace: a repository's own settings, broken ones too, have no say in the user's.
cd /

# configure KEY VALUE: other values of the same key, a person's own, stay.
configure() {
    git config --global --fixed-value --get "$1" "$2" >/dev/null || git config --global --add "$1" "$2"
}

configure safe.directory "$workspace"
configure credential.https://github.com.helper "$helper"
if [[ -n ${CSPACE_GIT_NAME:-} ]]; then
    git config --global user.name "$CSPACE_GIT_NAME"
fi
if [[ -n ${CSPACE_GIT_EMAIL:-} ]]; then
    git config --global user.email "$CSPACE_GIT_EMAIL"
fi
