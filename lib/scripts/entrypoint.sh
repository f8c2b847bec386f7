#!/usr/bin/env bash
# Prepare a container of ours, say so in /run/cspace/ready, then become the given command.
#
# Runs at every start of the container; each phase is idempotent. The phase at work is named in
# /run/cspace/phase and on stderr. A phase that fails ends the container with that phase's exit code.
#
# Environment: CSPACE_POST_CREATE   bash commands for /workspace, run once in a container's life
#              CSPACE_FIREWALL      "on": nothing of an agent's runs before the network is sealed
set -euo pipefail

scripts=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
runtime=/run/cspace
post_created=$HOME/.cspace-post-created

# run_phase NAME COMMAND…
run_phase() {
    local name=$1 code=0
    shift
    printf '%s\n' "$name" >"$runtime/phase"
    printf 'cspace: %s\n' "$name" >&2
    # The command is a program of its own, never a function: bash ignores `set -e` on the left of `||`.
    "$@" </dev/null || code=$?
    if ((code != 0)); then
        printf 'cspace: phase %s failed\n' "$name" >&2
        exit "$code"
    fi
}

cd /workspace
# A container that restarts keeps the file where /run/cspace is not a tmpfs.
rm -f "$runtime/ready"

if [[ ${CSPACE_FIREWALL:-off} == on ]]; then
    # `cspace up` seals it, from outside. A container that is started by other means waits for that.
    run_phase network /opt/cspace/bin/python -I -m cspace.egress.seal
fi
run_phase workspace "$scripts/init-workspace.sh"
run_phase claude "$scripts/init-claude-plugins.sh"
if [[ -n ${CSPACE_POST_CREATE:-} && ! -e $post_created ]]; then
    run_phase post-create bash -euo pipefail -c "$CSPACE_POST_CREATE"
    : >"$post_created"
fi

printf 'ready\n' >"$runtime/phase"
: >"$runtime/ready"
exec "$@"
