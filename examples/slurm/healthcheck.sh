#!/bin/sh
# slurm.conf: HealthCheckProgram=/etc/slurm/cudacompat-healthcheck.sh HealthCheckInterval=600 HealthCheckNodeState=ANY
# Drains a node for a proven error of its driver or GPUs, with cudacompat's line as the reason, and resumes one that was
# drained so and is sound again. What is not known drains nothing.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin # Slurm sets none for programs that it starts itself
node=${SLURMD_NODENAME:-$(hostname -s)}
line=$(cudacompat doctor --env none -o line)
code=$?
reason=$(scontrol show node "$node" --oneliner | sed -n 's/.* Reason=\(.*\) \[.*/\1/p')
case $code:$reason in
    1:) scontrol update NodeName="$node" State=DRAIN Reason="cudacompat: $line" ;;
    0:cudacompat:*) scontrol update NodeName="$node" State=RESUME ;;
esac
exit 0
