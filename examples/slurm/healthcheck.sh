#!/bin/sh
# slurm.conf: HealthCheckProgram=/etc/slurm/cudacompat-healthcheck.sh HealthCheckInterval=600 HealthCheckNodeState=ANY
# Drains a node for a proven error in its driver or GPUs, with cudacompat's line as the reason, and resumes it when
# nothing is wrong any more. A node that Slurm gives GPUs must have a driver and a GPU. An inconclusive result changes
# nothing. Slurm stops the program after 60 s; eight GPUs without persistence mode take up to 45 s to answer.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin # Slurm sets no PATH for programs that it starts itself
node=${SLURMD_NODENAME:-$(hostname -s)}
state=$(scontrol show node "$node" --oneliner)
case $state in
    *" Gres=gpu"*) set -- --require driver,gpu ;;
    *) set -- ;;
esac
line=$(cudacompat doctor --env none -o line --timeout 50s "$@")
code=$?
reason=$(printf '%s\n' "$state" | sed -n 's/.* Reason=\(.*\) \[.*/\1/p')
[ -n "$line" ] || exit 0 # without an answer, the node keeps its state
case $code:$reason in
    1:) scontrol update NodeName="$node" State=DRAIN Reason="cudacompat: $line" ;;
    0:cudacompat:*) scontrol update NodeName="$node" State=RESUME ;;
esac
exit 0
