#!/usr/bin/env bash
# Give a Debian or Ubuntu machine a Docker Engine with Compose v2 and Buildx.
#
#   engine.sh         install what is missing, start the daemon where no service manager does;
#                     where all three answer it changes nothing
#   engine.sh stop    stop the daemon that this script started, and no other
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib/bootstrap/apt.sh
. "$here/apt.sh"

PATH=$PATH:/usr/sbin:/sbin # a user's PATH on Debian does not hold dockerd
readonly OLDEST_COMPOSE=2.24 # the first that hands start_interval on
readonly OLDEST_ENGINE=25 # the first with start_interval, without which readiness is slow to see
readonly PID_FILE=/run/cspace-dockerd.pid
readonly LOG_FILE=/var/log/cspace-dockerd.log
readonly PATIENCE=60 # seconds; a first start on a slow disk takes about five

# Asks the server, since some clients end `docker info` with 0 when nobody answers.
server_version() { timeout 20 docker version --format '{{.Server.Version}}' 2>/dev/null; }
engine_answers() { [ -n "$(server_version)" ]; }

compose_version() { docker compose version --short 2>/dev/null; }
compose_is_recent() {
    local found
    found=$(compose_version) && printf '%s\n' "$OLDEST_COMPOSE" "${found#v}" | sort -VC
}

buildx_answers() { docker buildx version >/dev/null 2>&1; }

# An engine that others use is not upgraded by a script.
refuse_old_engine() {
    local found
    engine_answers || return 0
    found=$(server_version)
    [ "${found%%.*}" -ge "$OLDEST_ENGINE" ] ||
        fail "the Docker Engine that answers is $found, and cspace needs $OLDEST_ENGINE or newer" \
            "upgrade it, or remove it and run this again"
}

ready() { engine_answers && compose_is_recent && buildx_answers; }

# An engine that the user chose elsewhere is not replaced by one of ours.
refuse_foreign_engine() {
    local place=${DOCKER_HOST:-}
    [ "$place" != unix:///var/run/docker.sock ] || place=
    [ -n "$place" ] || place=$(docker context show 2>/dev/null || true)
    case $place in
    '' | default) ;;
    *) fail "the Docker engine at '$place' does not answer" \
        "start it, or unset DOCKER_HOST and run 'docker context use default'" ;;
    esac
}

# Membership in the group docker is as good as root, so a person gives it, not a script.
refuse_without_permission() {
    [ -S /var/run/docker.sock ] && [ ! -w /var/run/docker.sock ] || return 0
    fail "a Docker engine runs, but $(id -un) may not use it" \
        "run 'sudo usermod -aG docker $(id -un)', log in again, then repeat this command"
}

distribution() { (. /etc/os-release 2>/dev/null && echo "${ID:-} ${VERSION_CODENAME:-}"); }

# Only what is missing: Docker's own packages, or a client of another origin, stay in use.
missing_packages() {
    local compose=docker-compose client=docker-cli
    case $(distribution) in ubuntu*) compose=docker-compose-v2 client=docker.io ;; esac
    engine_answers || command -v dockerd >/dev/null || echo docker.io
    command -v docker >/dev/null || echo "$client"
    compose_is_recent || echo "$compose"
    buildx_answers || echo docker-buildx
}

# The whole entry is copied and only its suite changed, so mirror, options and keyring stay the
# user's own. Prints nothing where no entry for bookworm is found.
trixie_source() {
    local file
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] || continue
        awk -v RS= '!found && /(^|\n)Suites:[^\n]*[ \t]bookworm([ \t\n]|$)/ && !/(^|\n)Enabled: *no/ {
            sub(/(^|\n)Suites:[^\n]*/, "\nSuites: trixie")
            sub(/(^|\n)Components:[^\n]*/, "\nComponents: main")
            print; found = 1 }' "$file"
    done
}
trixie_line() {
    find /etc/apt -maxdepth 2 \( -name sources.list -o -path '*/sources.list.d/*.list' \) -exec cat {} + |
        sed -nE 's/^(deb +(\[[^]]*\] +)?[^ ]+ +)bookworm +main.*/\1trixie main/p' | sed -n 1p
}

# Priority 100: nothing that is installed or wanted from bookworm moves to trixie by itself.
add_trixie() {
    local entry file=/etc/apt/sources.list.d/cspace-trixie.sources
    entry=$(trixie_source)
    if [ -z "$entry" ]; then
        file=/etc/apt/sources.list.d/cspace-trixie.list
        entry=$(trixie_line)
    fi
    [ -n "$entry" ] || fail "apt has no source for Debian bookworm" \
        "add Debian's own source to /etc/apt/sources.list, then try again"
    say "adding Debian trixie as a second source, pinned at priority 100"
    printf 'Package: *\nPin: release n=trixie\nPin-Priority: 100\n' |
        as_root tee /etc/apt/preferences.d/cspace-trixie >/dev/null
    printf '%s\n' "$entry" | as_root tee "$file" >/dev/null
}

# `package/trixie` and not `-t trixie`, which would replace the machine's libc and base-files too:
# Docker's packages need nothing newer than bookworm has.
install_packages() {
    local packages
    read -ra packages <<<"$(missing_packages | sort -u | tr '\n' ' ')"
    [ ${#packages[@]} -gt 0 ] || return 0
    case $(distribution) in
    'debian bookworm')
        add_trixie
        apt_install "${packages[@]/%//trixie}"
        ;;
    debian* | ubuntu*) apt_install "${packages[@]}" ;;
    *) fail "cspace can install a Docker Engine on Debian and Ubuntu only" \
        "install Docker Engine, Compose $OLDEST_COMPOSE or newer and Buildx, start the engine, try again" ;;
    esac
}

# True when the pid file names a living process of that program (a pattern): pids are used again,
# and where pid 1 buries nobody a dead daemon stays on as a zombie.
pid_is() {
    local status
    [ -r "$2" ] && status=$(cat "/proc/$(cat "$2")/status" 2>/dev/null) || return 1
    [[ $status =~ ^Name:$'\t'($1)$'\n' && $status != *$'\n'"State:"$'\t'"Z"* ]]
}

# After a crash dockerd believes any living process with its old pid to be itself, and gives up.
drop_stale_pid() { pid_is "$1" "$2" || as_root rm -f "$2"; }

# A process group of its own, so that neither ^C nor the end of a CI step reaches the daemon.
launch_daemon() {
    drop_stale_pid dockerd /var/run/docker.pid
    drop_stale_pid containerd /var/run/docker/containerd/containerd.pid
    say "starting dockerd (log: $LOG_FILE)"
    # shellcheck disable=SC2016 # the inner shell expands these
    as_root setsid --fork sh -c 'echo $$ >"$1.new"; mv "$1.new" "$1"; exec dockerd >"$2" 2>&1 </dev/null' \
        sh "$PID_FILE" "$LOG_FILE"
}

# In its first moment ours is still the shell that becomes dockerd.
daemon_died() { [ -e "$PID_FILE" ] && ! pid_is 'dockerd|sh' "$PID_FILE"; }

# One that is about to answer, another caller's too, is waited for.
start_daemon() {
    drop_stale_pid 'dockerd|sh' "$PID_FILE"
    if [ -d /run/systemd/system ]; then
        say "starting docker.service"
        as_root systemctl enable --now docker.service
    elif ! [ -e "$PID_FILE" ] && ! pid_is dockerd /var/run/docker.pid; then
        launch_daemon
    fi
    wait_for_engine
}

# As root, because the caller may not be in the group docker (yet).
wait_for_engine() {
    local deadline=$((SECONDS + PATIENCE))
    until as_root timeout 20 docker version >/dev/null 2>&1; do
        if [ $SECONDS -ge $deadline ] || daemon_died; then
            as_root tail -n 20 "$LOG_FILE" >&2 || true
            fail "dockerd did not start" "read $LOG_FILE, or 'journalctl -u docker' under systemd"
        fi
        sleep 0.3
    done
}

ensure() {
    local begun=$SECONDS
    refuse_old_engine
    if ready; then
        say "Engine $(server_version), Compose $(compose_version): nothing to do"
        return
    fi
    engine_answers || refuse_foreign_engine
    install_packages
    engine_answers || refuse_without_permission
    engine_answers || start_daemon
    refuse_without_permission
    ready || fail "the installed Docker does not answer with Compose $OLDEST_COMPOSE and Buildx" \
        "see 'docker info', 'docker compose version' and 'docker buildx version'"
    say "Engine $(server_version), Compose $(compose_version) ready after $((SECONDS - begun)) s"
}

stop() {
    if ! pid_is dockerd "$PID_FILE"; then
        say "no dockerd of ours runs"
        return
    fi
    say "stopping dockerd"
    as_root bash -c "kill $(cat "$PID_FILE")" # the shell's own kill: /bin/kill may be absent
    local deadline=$((SECONDS + PATIENCE))
    while pid_is dockerd "$PID_FILE"; do
        [ $SECONDS -lt $deadline ] || fail "dockerd does not stop" "read $LOG_FILE"
        sleep 0.2
    done
    as_root rm -f "$PID_FILE"
}

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0 # sourced: only the functions are wanted

case ${1:-ensure} in
ensure) ensure ;;
stop) stop ;;
*) fail "unknown command '$1'" "use 'engine.sh' or 'engine.sh stop'" ;;
esac
