#!/bin/sh
# Fleet gives the package's place in INSTALLER_PATH.
set -eu
apt-get install --assume-yes --no-install-recommends "$INSTALLER_PATH"
systemctl try-restart beta.service || true
