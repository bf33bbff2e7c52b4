#!/bin/sh
# Stops the service when the package is removed. During an upgrade dpkg passes "upgrade", and rpm 1.
set -e
case "${1:-}" in
  remove | purge | 0)
    if [ -d /run/systemd/system ]; then
      systemctl disable --now weir.service weir.socket
    fi
    ;;
esac
