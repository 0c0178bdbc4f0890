#!/bin/sh
# A purge of the deb or a removal of the rpm (0) also deletes the link that enables the timer, and the service's reports.
# A removed deb keeps both, as it keeps its configuration.
set -e
case $1 in purge | 0)
    rm -f /etc/systemd/system/timers.target.wants/cudacompat.timer
    rm -rf /var/lib/cudacompat
    ;;
esac
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
