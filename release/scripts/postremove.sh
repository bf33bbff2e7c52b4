#!/bin/sh
# Keeps the data directory, /etc/weir and the user.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
