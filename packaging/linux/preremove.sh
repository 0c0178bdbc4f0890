#!/bin/sh
# Stops the timer before a removal, which deb calls "remove" and rpm 0. An upgrade does not stop it.
set -e
case $1 in remove | 0)
    if [ -d /run/systemd/system ]; then
        systemctl stop cudacompat.timer cudacompat.service
    fi
    ;;
esac
