#!/bin/sh
# Creates the service's user and loads its unit. The service is neither enabled nor started, and after an upgrade the
# running gateway continues until the operator restarts it, because the new one may migrate the database.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
  systemd-sysusers /usr/lib/sysusers.d/weir.conf
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
