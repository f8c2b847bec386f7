#!/usr/bin/env bash
# Make sure that the engine has debian:bookworm-slim: pulled, or built from Debian packages where
# no image registry answers.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib/bootstrap/apt.sh
. "$here/apt.sh"

readonly IMAGE=debian:bookworm-slim SUITE=bookworm PACKAGES=ca-certificates
readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
readonly PULL_SECONDS=120 # 30 MB; without a registry docker gives up by itself, mostly at once

pull() {
    say "pulling $IMAGE"
    timeout "$PULL_SECONDS" docker pull --quiet "$IMAGE" >/dev/null 2>&1
}

# The name is the content of this script, which holds the suite, the packages and the options.
cached_tar() {
    local key
    key=$(sha256sum "${BASH_SOURCE[0]}" | cut -c1-16)
    echo "${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/cspace/base-$SUITE-$key.tar"
}

# Into a temporary name first: an interrupted build is never taken for a cached one. Manuals are
# left out, as in the image of that name.
build_tar() {
    local tar=$1 begun=$SECONDS temporary
    if ! command -v mmdebstrap >/dev/null || [ ! -e "$KEYRING" ]; then
        apt_install mmdebstrap debian-archive-keyring
    fi
    say "no registry answers: building $IMAGE from Debian packages (about 30 s)"
    temporary=$(mktemp "$tar.XXXXXX")
    # shellcheck disable=SC2064 # the name is known now and local
    trap "rm -f '$temporary'" EXIT
    # Ubuntu's apt does not trust Debian's keys, so they are named.
    quietly as_root mmdebstrap --keyring="$KEYRING" --variant=minbase --include="$PACKAGES" --format=tar \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-include=/usr/share/doc/*/copyright' "$SUITE" "$temporary" ||
        fail "mmdebstrap could not build $IMAGE" "see that Debian's mirror answers and that debian-archive-keyring knows $SUITE"
    mv "$temporary" "$tar"
    say "built in $((SECONDS - begun)) s"
}

import() {
    local tar
    tar=$(cached_tar)
    mkdir -p "$(dirname "$tar")"
    exec 9>"$tar.lock"
    flock 9 # two at once: the second one finds the tar of the first
    [ -s "$tar" ] || build_tar "$tar"
    say "importing $tar"
    docker import --change 'CMD ["bash"]' "$tar" "$IMAGE" >/dev/null
}

if docker image inspect "$IMAGE" >/dev/null 2>&1; then
    say "$IMAGE is present: nothing to do"
else
    pull || import
fi
