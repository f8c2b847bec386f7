#!/usr/bin/env bash
# Prepare Claude Code for the container's user: no first-run questions, the instance's login, and our
# servers registered once. Idempotent; what a person set there stays.
set -euo pipefail

scripts=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
state=${CLAUDE_CONFIG_DIR:?}/.claude.json
settings=$CLAUDE_CONFIG_DIR/settings.json
project=/workspace/.mcp.json
print_key=$scripts/print-api-key.sh
helper=''
[[ -s /run/secrets/anthropic_api_key ]] && helper=$print_key

# read_json FILE: the text of FILE; {} when it is absent, empty, or something else than a regular file
read_json() {
    if [[ -f $1 && -s $1 ]]; then cat "$1"; else printf '{}\n'; fi
}

# compute PROJECT-JSON: the lines that init-claude-plugins.jq describes
compute() {
    jq --slurp --raw-output --arg helper "$helper" --arg ours "$print_key" \
        --from-file "$scripts/init-claude-plugins.jq" <(read_json "$state") <(read_json "$settings") "$1"
}

# set_aside FILE: a file that a crash tore would keep Claude Code from starting, so it makes room
set_aside() {
    if ! read_json "$1" | jq --slurp --exit-status 'length == 1 and (.[0] | type == "object")' >/dev/null 2>&1; then
        printf 'cspace: %s is not a JSON object; moved to %s.unusable\n' "$1" "$1" >&2
        mv "$1" "$1.unusable"
    fi
}

# replace FILE JSON: readers see the old file or the new one
replace() {
    local temporary
    temporary=$(mktemp "$1.XXXXXX")
    jq . <<<"$2" >"$temporary"
    mv "$temporary" "$1"
}

if ! answer=$(compute <(read_json "$project") 2>/dev/null); then
    set_aside "$state"
    set_aside "$settings"
    # The project's file is the project's: when that is the broken one, it counts as absent.
    answer=$(compute <(read_json "$project") 2>/dev/null) || answer=$(compute <(printf '{}\n'))
fi
mapfile -t lines <<<"$answer"

[[ -z ${lines[0]:-} ]] || replace "$state" "${lines[0]}"
[[ -z ${lines[1]:-} ]] || replace "$settings" "${lines[1]}"

# `claude mcp add` ran when the image was built; starting it again only to write the same takes 0.3 s.
for how in "${lines[@]:2}"; do
    recorded=$scripts/registered-$how.json
    if [[ -s $recorded ]]; then
        replace "$state" "$(jq --slurpfile servers "$recorded" '.mcpServers += $servers[0]' "$state")"
    else
        "$scripts/register-server.sh" "$how"
    fi
done
