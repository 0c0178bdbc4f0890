#!/bin/sh
# slurm.conf: HealthCheckProgram=/etc/slurm/cudacompat-healthcheck.sh HealthCheckInterval=600 HealthCheckNodeState=ANY
# Drains a node for a proven error in its driver or GPUs, with cudacompat's line as the reason, and resumes it when
# nothing is wrong any more. An inconclusive result changes nothing.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin # Slurm sets no PATH for programs that it starts itself
node=${SLURMD_NODENAME:-$(hostname -s)}
line=$(cudacompat doctor --env none -o line)
code=$?
reason=$(scontrol show node "$node" --oneliner | sed -n 's/.* Reason=\(.*\) \[.*/\1/p')
case $code:$reason in
    1:) scontrol update NodeName="$node" State=DRAIN Reason="cudacompat: $line" ;;
    0:cudacompat:*) scontrol update NodeName="$node" State=RESUME ;;
esac
exit 0
