#!/bin/sh
# slurm.conf: Prolog=/etc/slurm/cudacompat-prolog.sh SchedulerParameters=nohold_on_prolog_fail
# Keeps jobs from starting on a node with a proven error. It drains the node itself, so that the reason is cudacompat's
# line and healthcheck.sh may resume the node; when it fails, Slurm puts the job back into the queue. Without
# nohold_on_prolog_fail Slurm also holds the job until somebody releases it.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin # Slurm sets no PATH for programs that it starts itself
line=$(cudacompat doctor --env none -o line)
[ $? -eq 1 ] && [ -n "$line" ] || exit 0 # without an answer, the node keeps its state
scontrol update NodeName="${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN Reason="cudacompat: $line"
echo "cudacompat: $line" >&2
exit 1
