#!/bin/sh
set -eu
printf 'This computer belongs to Harbour Instruments.\n' > /etc/motd
