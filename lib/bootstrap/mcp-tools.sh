#!/usr/bin/env bash
# Install the programs that judge an MCP server from npm, once for each set of versions, and print
# the directory they are in: bin/node, bin/mcp-inspector, bin/conformance.
#
# They need a newer Node than a system may have, so Node comes along, from npm too.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib/bootstrap/apt.sh
. "$here/apt.sh"

# Of the suite the released version knows one protocol era only.
readonly PINS=(
    node@22.23.3
    @modelcontextprotocol/inspector@2.12.0
    @modelcontextprotocol/conformance@0.2.0-alpha.12
)

# The name is the content of this script, which holds the versions and the options.
cached() {
    local key
    key=$(sha256sum "${BASH_SOURCE[0]}" | cut -c1-16)
    echo "${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/cspace/mcp-tools-$key"
}

# Into a temporary name first: an interrupted installation is never taken for a whole one.
install_into() {
    local directory=$1 begun=$SECONDS temporary
    command -v npm >/dev/null || apt_install npm
    say "installing ${PINS[*]}"
    # Behind a proxy that signs with its own authority; Node looks at no store of the system's.
    export NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-${SSL_CERT_FILE:-}}
    temporary=$(mktemp -d "$directory.XXXXXX")
    # shellcheck disable=SC2064 # the name is known now and local
    trap "rm -rf '$temporary'" EXIT
    quietly npm install --prefix "$temporary" --no-audit --no-fund --no-save "${PINS[@]}" ||
        fail "npm could not install ${PINS[*]}" "see that npm's registry answers: npm ping"
    ln -s node_modules/.bin "$temporary/bin"
    mv -T "$temporary" "$directory"
    say "installed in $((SECONDS - begun)) s"
}

directory=$(cached)
mkdir -p "$(dirname "$directory")"
exec 9>"$directory.lock"
flock 9 # two at once: the second one finds what the first installed
[ -d "$directory" ] || install_into "$directory"
echo "$directory"
