#!/usr/bin/env bash
# Create the container's user with exactly the given ids, and the directories it must own.
# Run as root in the image's last layer. A user or group of the image that has one of the ids already
# is moved to a free one, together with its files: bind mounts know only numbers.
#
# Usage: create-user.sh UID GID      UID must not be 0
set -euo pipefail

user=dev uid=$1 gid=$2
if [[ ! $uid =~ ^[1-9][0-9]*$ || ! $gid =~ ^(0|[1-9][0-9]*)$ ]]; then
    printf 'cspace: the container user can not have uid %s and gid %s\n' "$uid" "$gid" >&2
    exit 1
fi

# free_id DATABASE: the first number from 900 down that passwd or group does not use.
free_id() {
    local id=900
    while [[ $id == "$uid" || $id == "$gid" ]] || getent "$1" "$id" >/dev/null; do id=$((id - 1)); done
    printf '%s\n' "$id"
}

# name_of DATABASE ID
name_of() {
    getent "$1" "$2" | cut -d : -f 1 || true
}

squatter=$(name_of passwd "$uid")
if [[ -n $squatter ]]; then
    free=$(free_id passwd)
    find / -xdev -uid "$uid" -exec chown --no-dereference "$free" {} +
    usermod --uid "$free" "$squatter"
fi

group=$(name_of group "$gid")
if [[ -n $group && $gid != 0 ]]; then
    free=$(free_id group)
    find / -xdev -gid "$gid" -exec chgrp --no-dereference "$free" {} +
    groupmod --gid "$free" "$group"
    group=''
fi
[[ -n $group ]] || groupadd --gid "$gid" "$user"
# Without --no-log-init a uid of ten digits makes lastlog a file of hundreds of gigabytes.
useradd --no-log-init --uid "$uid" --gid "$gid" --home-dir "/home/$user" --create-home --shell /bin/bash "$user"

install --directory --owner "$uid" --group "$gid" /workspace /run/cspace
install --directory --owner "$uid" --group "$gid" --mode 0700 /run/secrets \
    "/home/$user/.claude" "/home/$user/.claude/projects" "/home/$user/.claude/projects/-workspace" \
    "/home/$user/.claude/projects/-workspace/memory"
# What the model's files are mounted in. Docker would make the way there root's, and no tool could cache.
install --directory --owner "$uid" --group "$gid" \
    "/home/$user/.cache" "/home/$user/.cache/cspace" "/home/$user/.cache/cspace/models"
