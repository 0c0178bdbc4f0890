#!/bin/sh
# slurm.conf: HealthCheckProgram=/etc/slurm/cudacompat-healthcheck.sh HealthCheckInterval=600 HealthCheckNodeState=ANY
# Drains a node whose driver and GPUs do not go together, with our line as the reason, and resumes one that we drained
# and that is sound again. What is not known drains nothing.
node=${SLURMD_NODENAME:-$(hostname -s)}
line=$(cudacompat doctor --env none -o line)
code=$?
reason=$(scontrol show node "$node" --oneliner | sed -n 's/.* Reason=\(.*\) \[.*/\1/p')
case $code:$reason in
    1:) scontrol update NodeName="$node" State=DRAIN Reason="cudacompat: $line" ;;
    0:cudacompat:*) scontrol update NodeName="$node" State=RESUME ;;
esac
exit 0
