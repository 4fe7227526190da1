#!/bin/sh
# Makes a folder that holds what tender needs to run, and nothing else: the binary, its shared libraries, the CA
# certificates, names for its user. The Dockerfile's runtime stage is this folder; tests/e2e/test_runtime_tree.py
# runs it without a builder.
#
#     cmake/collect_runtime.sh BINARY FOLDER
set -eu
binary=${1:?the binary}
tree=${2:?the folder to make}
user=65532

mkdir -p "$tree/usr/bin" "$tree/etc/ssl/certs" "$tree/var/lib/tender" "$tree/tmp"
cp "$binary" "$tree/usr/bin/tender"

# "name => /path (address)", and the loader as "/path (address)".
libraries=$(ldd "$binary" | sed -n -e 's/^.* => \(\/[^ ]*\) .*$/\1/p' -e 's/^[[:space:]]*\(\/[^ ]*\) (.*$/\1/p' | sort -u)
for library in $libraries; do
    mkdir -p "$tree$(dirname "$library")"
    cp -L "$library" "$tree$library"
done

for bundle in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
    if [ -f "$bundle" ]; then
        cp -L "$bundle" "$tree/etc/ssl/certs/ca-certificates.crt"
        break
    fi
done
[ -f "$tree/etc/ssl/certs/ca-certificates.crt" ] || echo "collect_runtime: no CA certificates on this machine" >&2

echo "tender:x:$user:$user:tender:/var/lib/tender:/sbin/nologin" >"$tree/etc/passwd"
echo "tender:x:$user:" >"$tree/etc/group"
echo "hosts: files dns" >"$tree/etc/nsswitch.conf"
chmod 0755 "$tree/usr/bin/tender"
chmod 0700 "$tree/var/lib/tender"
chmod 1777 "$tree/tmp"
