#!/bin/sh
# The data directory, /etc/weir and the user stay.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
