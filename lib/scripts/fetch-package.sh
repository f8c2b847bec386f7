#!/usr/bin/env bash
# Fetch one package of the npm registry, verify it, and unpack it. Needs no Node.
#
# Usage: fetch-package.sh NAME VERSION SHA512 DIRECTORY [MEMBER…]
#   SHA512     base64, as the registry's `dist.integrity` has it after `sha512-`
#   MEMBER     unpack only these paths of the package
# Environment: NPM_CONFIG_REGISTRY, when the packages come from a mirror.
set -euo pipefail

name=$1 version=$2 expected=$3 directory=$4
shift 4
registry=${NPM_CONFIG_REGISTRY:-https://registry.npmjs.org}
archive=$(mktemp)
trap 'rm -f "$archive"' EXIT

curl --fail --silent --show-error --location --retry 3 --output "$archive" \
    "${registry%/}/$name/-/${name##*/}-$version.tgz"

actual=$(openssl dgst -sha512 -binary "$archive" | base64 -w 0)
if [[ $actual != "$expected" ]]; then
    printf 'cspace: %s %s has the wrong SHA-512: %s\n' "$name" "$version" "$actual" >&2
    exit 1
fi
mkdir -p "$directory"
tar -xzf "$archive" -C "$directory" --strip-components=1 --no-same-owner "${@/#/package/}"
