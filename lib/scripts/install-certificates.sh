#!/usr/bin/env bash
# Add the certificates of a PEM bundle that this system does not trust yet.
# Run while the image is built: a company's proxy signs with an authority of its own.
#
# Usage: install-certificates.sh BUNDLE      an absent or empty BUNDLE changes nothing
set -euo pipefail

bundle=$1
trusted=/etc/ssl/certs/ca-certificates.crt
[[ -s $bundle ]] || exit 0

# One certificate a file: the hashed links that update-ca-certificates makes hold only one each.
awk -v prefix=/usr/local/share/ca-certificates/host- '
    /^-----BEGIN CERTIFICATE-----/ { inside = 1; text = "" }
    inside { text = text $0 "\n" }
    /^-----END CERTIFICATE-----/ && inside {
        inside = 0
        if (!seen[text]++ && FILENAME != ARGV[1]) {
            count += 1
            path = prefix count ".crt"
            printf "%s", text > path
            close(path)
        }
    }
' "$trusted" <(tr -d '\r' <"$bundle")
update-ca-certificates
