#!/bin/sh
set -eu
systemctl stop beta.service || true
apt-get purge --assume-yes beta
