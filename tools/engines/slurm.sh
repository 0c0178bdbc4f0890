#!/bin/bash
# The scripts of examples/slurm, by Slurm itself: slurmctld, five slurmd and munge in a root of their own, without a
# network. Of the nodes the one with an old driver drains with our line, by the health check and by the prolog, and the
# others run a job; when it is sound again it comes back, and the job that it sent away runs; a job whose nodes have two
# releases of NCCL ends before its real step; jobs that ask for features start on the nodes that have them. 52 artefacts
# ask with constraint.sh for one of five kinds of node; `cudacompat check` says on which each runs. REAL names the program (the static one), ROOT a tree of Debian with slurm-wlm and
# munge, else it is made here; needs bubblewrap, mmdebstrap, root.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
if [ ! -d "${ROOT:-}" ]; then
    ROOT=$work/root
    mmdebstrap --variant=minbase --include=slurm-wlm,munge,procps,iproute2 bookworm "$ROOT"
fi
mkdir "$work/facts" "$work/etc" "$work/var" "$work/bin"
for n in 1 2 3 4 5; do node "$work/facts/n$n.json" 570.133.20 12.8 2.27.3; done
node "$work/facts/new.json" 580.95.05 13.0 2.27.3
sed 's/"compute_capability": "9.0"/"compute_capability": "8.0"/g' "$work/facts/n1.json" >"$work/facts/a100.json"
kinds="1,450.80.02,8.0,A100 2,535.183.01,7.5,T4 3,550.120,8.9,L4 4,575.57.08,12.0,5090 5,580.65.06,9.0,H100"
for kind in $kinds; do
    IFS=, read -r n driver capability _ <<<"$kind"
    node "$work/facts/old.json" "$driver" ""
    sed "s/\"compute_capability\": \"9.0\"/\"compute_capability\": \"$capability\"/g" "$work/facts/old.json" >"$work/facts/kind$n.json"
done
node "$work/facts/old.json" 470.256.02 11.4 2.27.3
node "$work/facts/nccl.json" 570.133.20 12.8 2.26.2

cp "$REAL" "$work/bin/real"
printf '#!/bin/sh\nexport FACTS=/facts/$SLURMD_NODENAME.json REAL=/try/real\nexec /try/given "$@"\n' >"$work/bin/cudacompat"
cp "$here/cudacompat" "$work/bin/given"
cp "$examples"/slurm/*.sh "$work/etc"
cat >"$work/etc/health.sh" <<'END'
#!/bin/sh
export PATH=/try:/usr/bin:/bin
echo "node '$SLURMD_NODENAME'" >>/var/log/health
[ ! -e /facts/quiet ] || exit 0
exec /etc/slurm/healthcheck.sh
END
cat >"$work/etc/prolog" <<'END'
#!/bin/sh
export PATH=/try:/usr/bin:/bin
exec /etc/slurm/prolog.sh
END
cat >"$work/etc/slurm.conf" <<'END'
ClusterName=try
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/%n.pid
SlurmctldLogFile=/var/log/slurmctld
SlurmdLogFile=/var/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=1
HealthCheckProgram=/etc/slurm/health.sh
HealthCheckInterval=10
HealthCheckNodeState=ANY
Prolog=/etc/slurm/prolog
SchedulerParameters=nohold_on_prolog_fail
SlurmdTimeout=300
MessageTimeout=60
END
for n in 1 2 3 4 5; do
    echo "NodeName=n$n NodeHostname=localhost NodeAddr=127.0.0.1 Port=1700$n CPUs=1 State=UNKNOWN" >>"$work/etc/slurm.conf"
done
chmod +x "$work"/bin/* "$work/etc/health.sh" "$work/etc/prolog" "$work"/etc/*.sh
echo "PartitionName=all Nodes=n[1-5] Default=YES State=UP" >>"$work/etc/slurm.conf"
cat >"$work/etc/job" <<'END'
#!/bin/sh
export PATH=/try:/usr/bin:/bin
sh /etc/slurm/drift.sh || exit
srun sh -c 'echo "the real step on $SLURMD_NODENAME"'
END
cat >"$work/inside" <<'END'
#!/bin/bash
# In the root: starts everything, and prints what happens.
export PATH=/try:/usr/sbin:/usr/bin:/sbin:/bin
echo "127.0.0.1 localhost" >/etc/hosts
ip addr add 192.0.2.1/32 dev lo # with loopback addresses only, no name is resolved (AI_ADDRCONFIG)
mkdir -p /var/spool/slurmctld /var/log /run/munge /var/lib/munge /etc/munge
head -c 1024 /dev/urandom >/etc/munge/munge.key && chmod 400 /etc/munge/munge.key && chmod 755 /run/munge
munged --force --key-file=/etc/munge/munge.key --log-file=/var/log/munged --pid-file=/run/munge/pid --seed-file=/var/lib/munge/seed
slurmctld
for n in 1 2 3 4 5; do mkdir -p "/var/spool/n$n"; slurmd -N "n$n"; done
until_node() { for _ in $(seq 60); do sinfo -h -n "$1" -o %T | grep -q "$2" && return; sleep 1; done; }
for n in 1 2 3 4 5; do until_node "n$n" '^idle$'; done
sinfo --version; sinfo -N
# Features: of n1 with an old driver, n2 with other GPUs, n4 with a new driver.
for n in 1:old 2:a100 3:n3 4:new; do
    own=$(SLURMD_NODENAME=${n#*:} sh /etc/slurm/features.sh)
    scontrol update NodeName="n${n%:*}" AvailableFeatures="$own" ActiveFeatures="$own"
done
sinfo -h -N -o '%N %f' | sort -u
for asked in driver580 driver525 'driver525&cudacompat-cc9.0' 'driver450&(cudacompat-cc8.0|cudacompat-cc9.0)' driver999; do
    nodes=
    for n in 1 2 3 4 5; do
        srun --immediate=3 -w "n$n" -C "cudacompat-$asked" true 2>/tmp/refused && nodes="$nodes n$n"
    done
    echo "asked $asked:$nodes$([ -n "$nodes" ] || tail -n 1 /tmp/refused)"
done
cp /facts/old.json /facts/n3.json
before=$(date +%s)
until_node n3 drain
echo "drained after $(($(date +%s) - before)) s: $(sinfo -h -R -o '%N %E')"
sleep 25
echo "states: $(sinfo -h -N -o '%N=%T' | sort -u | tr '\n' ' ')"
echo "job: $(timeout 120 srun -N 4 sh -c 'echo $SLURMD_NODENAME' 2>&1 | sort | tr '\n' ' ')"
echo "kept off: $(timeout 20 srun --immediate=5 -w n3 true 2>&1 | head -n 1)"
cp /facts/n1.json /facts/n3.json
until_node n3 '^idle$'
echo "back: $(sinfo -h -n n3 -o %T)"
# The prolog alone: the health check is silent, and the node's driver is old again.
touch /facts/quiet
cp /facts/old.json /facts/n3.json
job=$(sbatch --parsable -w n3 -o /var/sent --wrap 'echo ran')
until_node n3 drain
sleep 5 # what Slurm itself says comes after what the prolog says
echo "prolog: $(sinfo -h -R -n n3 -o '%N %E')"
echo "sent back: $(squeue -h -j "$job" -o '%T %r')"
cp /facts/n1.json /facts/n3.json
rm /facts/quiet
until_node n3 '^idle$'
echo "mended: $(sinfo -h -n n3 -o %T)"
for _ in $(seq 240); do grep -q '^ran' /var/sent && break; sleep 1; done # two minutes, as BeginTime says
echo "then: $(tail -n 1 /var/sent)"
# What each artefact asks for, in the features of five kinds of node.
for n in 1 2 3 4 5; do
    own=$(SLURMD_NODENAME=kind$n sh /etc/slurm/features.sh)
    scontrol update NodeName="n$n" AvailableFeatures="$own" ActiveFeatures="$own"
done
i=0
while read -r artefact; do
    i=$((i + 1))
    tr ' ' '\n' <<<"$artefact" >/tmp/a.txt
    constraint=$(sh /etc/slurm/constraint.sh /tmp/a.txt 2>/dev/null) || : # names a feature of no node, which Slurm refuses
    for n in 1 2 3 4 5; do
        sbatch --test-only -w "n$n" -C "$constraint" --wrap true 2>/dev/null && echo -n " $n" >>/tmp/may.$i
    done
    sbatch -C "$constraint" -o /tmp/ran.$i --wrap 'echo $SLURMD_NODENAME' >/dev/null 2>/tmp/ran.$i
done </facts/artefacts
for _ in $(seq 120); do [ -z "$(squeue -h)" ] && break; sleep 1; done
i=0
while read -r artefact; do
    i=$((i + 1))
    echo "asks $artefact: ran on $(tail -n 1 /tmp/ran.$i 2>/dev/null); may run on$(cat /tmp/may.$i 2>/dev/null);"
done </facts/artefacts
scontrol update NodeName=n1,n2,n3,n4,n5 AvailableFeatures= ActiveFeatures=
cd /var
sbatch -W -N 4 -w n1,n2,n3,n4 -o alike /etc/slurm/job >/dev/null; echo "alike: exit $? $(grep -c 'the real step' alike) steps"
cp /facts/nccl.json /facts/n2.json
sbatch -W -N 4 -w n1,n2,n3,n4 -o drift /etc/slurm/job >/dev/null; echo "drift: exit $? $(grep -c 'the real step' drift) steps $(grep fleet-drift drift)"
cat alike drift
echo "told: $(sort -u /var/log/health | tr '\n' ' ')"
END
cp "$here/kubernetes/artefacts.txt" "$work/facts/artefacts"
said=$(bwrap --bind "$ROOT" / --proc /proc --dev /dev --ro-bind /sys /sys --tmpfs /run --tmpfs /tmp --bind "$work/var" /var --bind "$work/etc" /etc/slurm \
    --bind "$work/facts" /facts --ro-bind "$work/bin" /try --ro-bind "$work/inside" /inside --tmpfs /etc/munge \
    --cap-add ALL --unshare-net --unshare-pid --unshare-ipc --unshare-uts --hostname localhost --die-with-parent bash /inside 2>&1 | tee /dev/stderr) || true
line() { grep "^$1" <<<"$said" || true; }
expect "a floor is met by newer drivers alone" 'asked driver580: n4' "$(line 'asked driver580')"
expect "an old driver has the old floor" 'asked driver525: n2 n3 n4' "$(line 'asked driver525:')"
expect "a floor and a GPU" 'asked driver525&cudacompat-cc9.0: n3 n4' "$(line 'asked driver525&')"
expect "a floor and one of several GPUs" 'asked driver450&(*: n1 n2 n3 n4' "$(line 'asked driver450')"
expect "what no node has is refused" 'asked driver999:*Invalid feature specification*' "$(line 'asked driver999')"
expect "the node with an old driver drains with our line" '*n3 cudacompat: *driver-too-old*' "$(line drained)"
expect "no other does" '*n1=idle n2=idle n3=drained* n4=idle n5=idle*' "$(line states)"
expect "the others run a job" 'job: n1 n2 n4 n5*' "$(line job)"
expect "a sound node comes back" 'back: idle' "$(line back)"
expect "the prolog drains a node with our line" 'prolog: n3 cudacompat: *driver-too-old*' "$(line prolog)"
expect "its job is back in the queue, not held" 'sent back: PENDING *' "$(line 'sent back')"
expect "nor is it held by Slurm" '' "$(line 'sent back' | grep -i held || true)"
expect "the health check resumes the mended node" 'mended: idle' "$(line mended)"
expect "and the job runs" 'then: ran' "$(line 'then')"
expect "a job on nodes that are alike runs" 'alike: exit 0 4 steps' "$(line alike)"
expect "drift ends a job before its real step" 'drift: exit 1 0 steps*NCCL*' "$(line drift)"
# Where check says that each artefact runs, and where its job ran or might.
fails=0 refused=0 runs=0
while read -r artefact; do
    tr ' ' '\n' <<<"$artefact" >"$work/a.txt"
    said_of=$(grep -F "asks $artefact: " <<<"$said")
    may=${said_of#*may run on} ran=${said_of#*ran on n}
    for kind in $kinds; do
        IFS=, read -r n driver _ gpu <<<"$kind"
        "$REAL" check "$work/a.txt" --timeout 5m --driver "$driver" --gpu "$gpu" -o line >/dev/null 2>&1 && code=0 || code=$?
        case "$code:$may ${ran%%;*};" in
            0:*" $n"[\ \;]*) runs=$((runs + 1)) ;;
            0:*) runs=$((runs + 1)) refused=$((refused + 1)); echo "  refused: $artefact on $gpu, driver $driver" ;;
            1:*" $n"[\ \;]*) fails=$((fails + 1)); echo "  admitted: $artefact on $gpu, driver $driver" ;;
        esac
    done
done <"$here/kubernetes/artefacts.txt"
echo "$(grep -c '^asks' <<<"$said") jobs, $(grep -c 'ran on n' <<<"$said") ran; of $runs pairs that run $refused are refused; $fails that fail are admitted"
expect "no job may start where it fails, and at most 1 % of what runs is refused" '0 1' "$fails $((refused * 100 <= runs && runs > 0))"
exit $failed
