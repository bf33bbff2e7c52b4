#!/bin/sh
# Ends the service where the package is removed. At an upgrade dpkg says "upgrade" here, and rpm 1.
set -e
case "${1:-}" in
  remove | purge | 0)
    if [ -d /run/systemd/system ]; then
      systemctl disable --now weir.service weir.socket
    fi
    ;;
esac
