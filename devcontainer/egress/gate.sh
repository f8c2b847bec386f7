#!/bin/bash
# The gate of an instance: lets single ports through between its network, which has no other way in
# or out, and this machine. Each word is host:PORT, for what the instance reaches of the machine, or
# agent:PORT, for what the machine reaches of the instance; each only on its own side.
set -euo pipefail

# The name that the gate has in the instance's network, and nowhere else.
inside=$(getent ahostsv4 host.docker.internal | { read -r address _ && echo "$address"; })
outside=$(hostname -I | tr ' ' '\n' | grep -vxF -e "$inside" -e '')

pass() { # ADDRESS PORT TARGET
    socat "TCP4-LISTEN:$2,bind=$1,fork,reuseaddr,max-children=128" "TCP4:$3:$2" &
}

for word in "$@"; do
    case $word in
        host:*) pass "$inside" "${word#*:}" machine ;;
        agent:*) pass "$outside" "${word#*:}" agent ;;
    esac
done
# None of them ends by itself.
wait -n || true
exit 1
