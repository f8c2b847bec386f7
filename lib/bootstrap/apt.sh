# shellcheck shell=bash
# Report progress, become root, install Debian packages: sourced by the scripts beside this file.

# No script ends without a word: errexit alone is silent.
set -E
trap 'say "stopped at ${BASH_SOURCE[0]##*/}, line $LINENO"' ERR

# stdout stays free for data, so progress goes to stderr.
say() { printf '[%s] %s\n' "$(basename "$0" .sh)" "$*" >&2; }

# Every expected failure names the next step, as the CLI does.
fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

# A root shell often has no sudo, and a user's has nothing else.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "only root can run: $*" "become root, or install sudo, then try again"
    fi
}

# A package manager's output matters only when it fails.
quietly() {
    local log
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

on_debian() { command -v apt-get >/dev/null; }

# A new cloud machine upgrades itself first and holds the lock meanwhile; --no-remove, because
# nothing that is already installed may give way to us.
apt_install() {
    local begun=$SECONDS
    on_debian || fail "there is no apt here to install: $*" "install them with your own package manager"
    say "installing $*"
    quietly as_root apt-get -q update ||
        fail "apt could not read its package lists" "repair 'apt-get update', then try again"
    quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get -qy -o DPkg::Lock::Timeout=300 \
        install --no-remove --no-install-recommends "$@" ||
        fail "apt could not install: $*" "run 'apt-get install $*' to see why"
    say "installed in $((SECONDS - begun)) s"
}

# One apt run for all commands that are missing: pairs of command and package.
ensure_commands() {
    local missing=()
    while [ $# -gt 0 ]; do
        command -v "$1" >/dev/null || missing+=("$2")
        shift 2
    done
    [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
}
