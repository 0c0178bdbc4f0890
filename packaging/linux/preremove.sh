#!/bin/sh
# Before a removal, which deb calls remove and rpm 0, the timer stops; an upgrade leaves it as it is.
set -e
case $1 in remove | 0)
    if [ -d /run/systemd/system ]; then
        systemctl stop cudacompat.timer cudacompat.service
    fi
    ;;
esac
