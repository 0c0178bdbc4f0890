#!/bin/bash
# What `cudacompat requires` writes for pods, by Kubernetes itself: etcd, kube-apiserver and kube-scheduler, with nodes
# that kwok plays. Each pool of nodes has one GPU and one driver and bears the labels that GPU feature discovery's code
# gives them. For each artefact a pod says its needs with `-o nodeaffinity`, and one more for each pool; then the same
# with ResourceClaims and `-o cel`. Where they land is compared with `cudacompat check` of the artefact on each pool.
# Then the files of examples/kubernetes: the manifests, by the API server; the plugin, by node-problem-detector; the
# feature file, by Node Feature Discovery's local source.
#
# REAL names the program; BIN where the programs of Kubernetes are or will be (half an hour to build, on two cores);
# POOLS the pools. Needs go, kubectl, openssl; etcd of Debian comes by apt.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
BIN=${BIN:-$HOME/.cache/cudacompat-engines}
own=$here/kubernetes
pools=${POOLS:-$own/pools.csv}
port=${PORT:-26443}
running=()
trap 'kill "${running[@]}" 2>/dev/null || true; wait; rm -rf "$work"' EXIT

# built PACKAGE: one program of Kubernetes, built once
built() {
    local program=$BIN/${1##*/}
    [ -x "$program" ] || (cd "$own" && CGO_ENABLED=0 nice go build -trimpath -ldflags '-s -w' -o "$program" "$1")
}
mkdir -p "$BIN"
built k8s.io/kubernetes/cmd/kube-apiserver
built k8s.io/kubernetes/cmd/kube-scheduler
built k8s.io/node-problem-detector/cmd/nodeproblemdetector
# kwok 0.7 does not compile with 1.34's libraries.
[ -x "$BIN/kwok" ] || GOBIN=$BIN CGO_ENABLED=0 nice go install -trimpath -ldflags '-s -w' sigs.k8s.io/kwok/cmd/kwok@v0.7.0
[ -x "$BIN/labels" ] || (cd "$own" && nice go build -trimpath -o "$BIN/labels" \
    -ldflags "-X sigs.k8s.io/node-feature-discovery/source/local.featureFilesDir=features.d" .)
if [ ! -x "$BIN/etcd" ]; then
    (cd "$work" && apt-get download etcd-server && dpkg -x etcd-server_*.deb etcd && cp etcd/usr/bin/etcd "$BIN")
fi

# started NAME COMMAND…: in the background, with a log of its own
started() {
    local name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 &
    running+=($!)
}

# waited SECONDS COMMAND…: until it succeeds
waited() {
    local until=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $until ] || { printf 'WRONG  not in time: %s\n' "$*"; tail -n 5 "$work"/*.log; exit 1; }
        sleep 1
    done
}

openssl genrsa -out "$work/key" 2048 2>/dev/null
printf 'admin,admin,1,system:masters\nnpd,npd,2\ntaint,taint,3\n' >"$work/tokens"
store=http://127.0.0.1:$((port + 1))
started etcd "$BIN/etcd" --data-dir "$work/etcd" --unsafe-no-fsync --listen-client-urls "$store" \
    --advertise-client-urls "$store" --listen-peer-urls "http://127.0.0.1:$((port + 2))"
# There is no controller manager: nobody makes service accounts, and nobody takes a new node's taint away.
started apiserver "$BIN/kube-apiserver" --etcd-servers "$store" --secure-port "$port" \
    --bind-address 127.0.0.1 --cert-dir "$work/pki" --service-account-issuer https://localhost \
    --service-account-key-file "$work/key" --service-account-signing-key-file "$work/key" --authorization-mode RBAC \
    --token-auth-file "$work/tokens" --disable-admission-plugins ServiceAccount,TaintNodesByCondition \
    --feature-gates WatchList=false,SizeBasedListCostEstimate=false # Debian's etcd 3.4 cannot serve these
for user in admin npd taint; do
    cat >"$work/$user" <<END_OF_CONFIG
{"apiVersion": "v1", "kind": "Config", "current-context": "c",
 "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:$port", "insecure-skip-tls-verify": true}}],
 "users": [{"name": "c", "user": {"token": "$user"}}],
 "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}
END_OF_CONFIG
done
export KUBECONFIG=$work/admin
waited 120 kubectl get --raw /readyz
started scheduler "$BIN/kube-scheduler" --kubeconfig "$KUBECONFIG" --leader-elect=false --secure-port 0
started kwok "$BIN/kwok" --kubeconfig "$KUBECONFIG" --manage-all-nodes=true --server-address 127.0.0.1:0
echo "kube-apiserver $(go version -m "$BIN/kube-apiserver" | awk '$2 == "k8s.io/kubernetes" {print $3}')"

# The pools, with the labels that GPU feature discovery gives such nodes.
tail -n +2 "$pools" | awk -F, '{print $4, $5, $6, $7, $8, $9}' | "$BIN/labels" gfd >"$work/labels" 2>"$work/gfd.log"
python3 "$own/cluster.py" nodes "$pools" "$work/labels" >"$work/nodes.json"
kubectl create -f "$work/nodes.json" >/dev/null
ready() { [ "$(kubectl get nodes | grep -c ' Ready ')" = "$(wc -w <<<"$(kubectl get nodes -o name)")" ]; }
waited 300 ready
echo "nodes: $(kubectl get nodes -o name | wc -l) in $(($(wc -l <"$pools") - 1)) pools"

# The artefacts: what each needs in both formats, and what check says of it on each pool.
mkdir "$work/needs"
n=0
while read -r artefact; do
    n=$((n + 1))
    file=$work/needs/$(printf %02d $n)
    tr ' ' '\n' <<<"$artefact" >"$file.txt"
    for format in nodeaffinity cel; do
        "$REAL" requires "$file.txt" --timeout 5m -o $format >"$file.$format" 2>"$file.said" || rm "$file.$format"
    done
    while IFS=, read -r pool _ _ driver _ _ _ _ gpu; do
        "$REAL" check "$file.txt" --timeout 5m --driver "$driver" --gpu "$gpu" -o line >/dev/null 2>&1 && code=0 || code=$?
        echo "$pool,$code" >>"$file.check"
    done < <(tail -n +2 "$pools")
done <"$own/artefacts.txt"

# placed FORMAT: makes the pods, waits until the scheduler has looked at each, and compares
placed() {
    python3 "$own/cluster.py" pods "$pools" "$work/needs" "$1" >"$work/pods.json"
    local start=$SECONDS
    kubectl create -f "$work/pods.json" >/dev/null
    waited 900 python3 "$own/cluster.py" looked-at
    echo "$1: all looked at after $((SECONDS - start)) s"
    python3 "$own/cluster.py" compare "$pools" "$work/needs" "$1" || failed=1
    kubectl delete pods --all >/dev/null
}
placed nodeaffinity
# shellcheck source=tools/engines/kubernetes/node.sh
. "$own/node.sh"
python3 "$own/cluster.py" slices "$pools" >"$work/slices.json"
kubectl create -f "$work/slices.json" >/dev/null
placed cel
exit $failed
