#!/usr/bin/env bash
# Create .venv in the checkout with cspace (editable) and its development tools.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib/bootstrap/apt.sh
. "$here/apt.sh"
cd "$here/../.."

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if is_new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

# Debian splits ensurepip off, into a package of the very same minor version.
ensure_pip() {
    local package
    "$1" -c 'import ensurepip' 2>/dev/null && return
    package=$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    apt_install "$package"
}

# pip brings its own certificates and knows nothing of a company's: the system's bundle has both.
trust_system_certificates() {
    local bundle=/etc/ssl/certs/ca-certificates.crt
    [ -n "${PIP_CERT:-}${REQUESTS_CA_BUNDLE:-}" ] && return
    .venv/bin/pip config get global.cert >/dev/null 2>&1 && return
    [ ! -e "$bundle" ] || export PIP_CERT=$bundle
}

begun=$SECONDS
find_python >/dev/null || ! on_debian || apt_install python3 python3-venv
python=$(find_python) || fail "no Python 3.11 or newer on PATH" "install python3.11, then try again"
ensure_pip "$python"
say "installing cspace and its tools into .venv (about half a minute)"
"$python" -m venv --clear .venv
trust_system_certificates
quietly .venv/bin/pip install --disable-pip-version-check --editable '.[dev]' ||
    fail "pip could not install cspace" "run '.venv/bin/pip install --editable .[dev]' to see why"
touch .venv/ready
say "done in $((SECONDS - begun)) s"
