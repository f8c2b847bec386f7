#!/usr/bin/env bash
# Show the main job on a sample repository: two instances, one shared decision. May run again.
#
# Needs the engine, the base image and .venv: `make demo` makes them first.
# CSPACE_DEMO names the repository's directory, by default ~/cspace-demo.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib/bootstrap/apt.sh
. "$here/apt.sh"
PATH=$(cd "$here/../../.venv/bin" && pwd):$PATH
readonly DEMO=${CSPACE_DEMO:-$HOME/cspace-demo}

# A command and what it answers.
show() {
    printf '\n$ %s\n' "$*"
    "$@" </dev/null
}

git_demo() { git -C "$DEMO" -c user.name='cspace demo' -c user.email=demo@example.com "$@"; }

# An interrupted run may have left a repository without a commit, so the commit decides.
create_repository() {
    [ -e "$DEMO/.git" ] && git_demo rev-parse --quiet --verify HEAD >/dev/null 2>&1 && return
    mkdir -p "$DEMO"
    printf '# Sample shop\n\nA small program to try cspace on.\n' >"$DEMO/README.md"
    printf 'def total(prices: list[float]) -> float:\n    return sum(prices)\n' >"$DEMO/shop.py"
    git_demo init --quiet --initial-branch=main
    git_demo add README.md shop.py
    git_demo commit --quiet --message='Start the shop'
    say "created $DEMO"
}

# What init made belongs to the project, and only once: later records are a person's to commit.
prepare_project() {
    show cspace init
    git_demo ls-files --error-unmatch .cspace.json >/dev/null 2>&1 && return
    git_demo add --all
    git_demo commit --quiet --message='Prepare for cspace'
}

# The client runs inside the instance: it speaks to the same server, over the same pipes, as an
# agent there does.
call_tool() {
    local instance=$1
    shift
    cspace exec "$instance" -- /opt/cspace/bin/python -c "$(cat "$here/call_tool.py")" "$@" </dev/null
}

show_connection() {
    local answer
    answer=$(show cspace exec mercury -- claude mcp list)
    printf '%s\n' "$answer"
    grep -q 'cspace-context.*Connected' <<<"$answer" ||
        fail "Claude Code in mercury is not connected to the context server" "run 'cspace logs mercury'"
}

# Prints the new record's path below .cspace/context.
log_decision() {
    call_tool mercury log_decision '{
        "title": "Keep prices in cents",
        "context": "Sums of prices in floating point are off by a cent.",
        "alternatives": "Decimal: slower, and JSON has no such type.",
        "decision": "Every price is an integer number of cents.",
        "consequences": "Only the page that shows a price divides by 100."
    }' | grep -oE 'decisions/[a-z0-9-]+\.md' | sed -n 1p
}

share_decision() {
    local record file slug
    printf '\nmercury logs a decision through the MCP server …\n'
    record=$(log_decision)
    file=.cspace/context/$record
    slug=$(basename "$record" .md)
    [ -f "$file" ] || fail "the decision is not on the host: $DEMO/$file" "run 'cspace logs mercury'"
    printf '… it is a file on the host: %s\n' "$DEMO/$file"
    sed 's/^/    /' "$file"
    call_tool venus list_entries '{"kind": "decisions"}' | grep -F "$slug" >/dev/null ||
        fail "venus does not list $slug" "run 'cspace logs venus'"
    printf '… and venus lists it at once: %s\n' "$slug"
}

create_repository
cd "$DEMO"
prepare_project
show cspace up mercury venus --no-attach
show_connection
share_decision
cat <<END

Go on by yourself:
  export PATH=$(dirname "$(command -v cspace)"):\$PATH
  cd $DEMO
  cspace list             what runs
  cspace attach mercury   Claude Code inside mercury
  cspace down --all       archive the work of both and remove them
END
