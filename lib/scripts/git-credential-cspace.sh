#!/usr/bin/env bash
# A git credential helper: answers `get` for https://github.com with the token in /run/secrets/github_token.
# Says nothing to other hosts, other actions, or without a token, so git asks its next helper.
set -euo pipefail

token=/run/secrets/github_token
[[ ${1:-} == get && -r $token && -s $token ]] || exit 0

protocol='' host=''
while IFS='=' read -r key value && [[ -n $key ]]; do
    case $key in
        protocol) protocol=$value ;;
        host) host=$value ;;
    esac
done
[[ $protocol == https && $host == github.com ]] || exit 0

printf 'username=x-access-token\npassword=%s\n' "$(<"$token")"
