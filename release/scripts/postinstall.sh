#!/bin/sh
# The user of the service, and its unit. It is neither enabled nor started, and after an upgrade the gateway that runs
# goes on until it is restarted: the new one may change the schema of the database, and when is for the operator to say.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
  systemd-sysusers /usr/lib/sysusers.d/weir.conf
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
