# shellcheck shell=bash disable=SC2154
# The part of kubernetes.sh about one node: the files of examples/kubernetes by the API server, by node-problem-detector
# and by Node Feature Discovery's local source. The node's facts come from $FACTS, by the program's stand-in.
files=$examples/kubernetes
name=$(kubectl get nodes -o jsonpath='{.items[0].metadata.name}')
export FACTS=$work/facts.json PATH=$here:$PATH
node "$work/sound.json" 570.133.20 12.8
node "$work/old.json" 470.256.02 11.4
cp "$examples/facts/driver-mismatch.json" "$work/mismatch.json"
echo '{"schema": "cudacompat/facts/v1"}' >"$work/unknown.json"

# The DaemonSet, and what Pod Security makes of its pods. Nothing is kept.
for level in privileged baseline; do
    kubectl create namespace $level >/dev/null
    kubectl label namespace $level pod-security.kubernetes.io/enforce=$level >/dev/null
done
kubectl create namespace cudacompat >/dev/null
dry="kubectl create --dry-run=server --validate=strict"
expect "the DaemonSet is accepted" '*daemonset*created (server dry run)*' "$($dry -f "$files/daemonset.yaml" 2>&1)"
expect "its ConfigMap is accepted" '*created (server dry run)' \
    "$($dry configmap cudacompat-collect --from-file="$files/collect.sh" 2>&1)"
pod() {
    kubectl create --dry-run=client -o json -f "$files/daemonset.yaml" | python3 -c '
import json, sys
pod = json.load(sys.stdin)["spec"]["template"]
pod["metadata"].update(name="p", namespace=sys.argv[1])
json.dump({"apiVersion": "v1", "kind": "Pod", **pod}, sys.stdout)' "$1" | $dry -f - 2>&1 || true
}
expect "its pods may run where Pod Security is privileged" '*created (server dry run)' "$(pod privileged)"
expect "hostPath is all that baseline minds" '*violates PodSecurity "baseline*": hostPath volumes (volume "host")*' \
    "$(pod baseline)"
cp "$work/old.json" "$FACTS"
expect "collect.sh writes a line that fleet reads" '*n7*driver-too-old*' \
    "$(ONCE=1 NODE=n7 GROUP=gpu ROOT=/host sh "$files/collect.sh" | "$REAL" fleet - 2>&1 || true)"

# node-problem-detector with the rights that Kubernetes has for it, and taint.sh with those that it names.
kubectl create clusterrolebinding npd --clusterrole system:node-problem-detector --user npd >/dev/null
kubectl create clusterrole taint --verb get,list,patch --resource nodes >/dev/null
kubectl create clusterrolebinding taint --clusterrole taint --user taint >/dev/null
sed "s|/usr/local/bin/cudacompat|$here/cudacompat|; s|\"10m\"|\"5s\"|" \
    "$files/node-problem-detector.json" >"$work/npd.json"
cp "$work/sound.json" "$FACTS"
NODE_NAME=$name started npd "$BIN/nodeproblemdetector" --config.custom-plugin-monitor="$work/npd.json" --port 0 \
    --prometheus-port 0 --apiserver-override="https://127.0.0.1:$port?inClusterConfig=false&auth=$work/npd"

condition() {
    kubectl get node "$name" -o \
        jsonpath='{range .status.conditions[?(@.type=="CUDAIncompatible")]}{.status}: {.reason}: {.message}{end}'
}
is() { case $(condition) in $1) ;; *) return 1 ;; esac; }
# turned FACTS PATTERN: the condition, after the facts have changed
turned() {
    cp "$work/$1.json" "$FACTS"
    local start=$SECONDS
    waited 60 is "$2"
    expect "$1: the condition after $((SECONDS - start)) s, at an interval of 5 s" "$2" "$(condition)"
}
turned sound 'False: NoErrorFound: cudacompat found no error*'
turned old 'True: CUDAIncompatible: FAIL driver-too-old: *'
turned mismatch 'True: CUDAIncompatible: FAIL driver-mismatch: *'

# A pod for that node, which does not tolerate the taint.
kept() {
    kubectl run "$1" --image registry.example/c >/dev/null \
        --overrides "{\"spec\": {\"nodeSelector\": {\"kubernetes.io/hostname\": \"$name\"}}}"
    waited 60 python3 "$own/cluster.py" looked-at
    kubectl get pod "$1" -o jsonpath='{.spec.nodeName} {.status.conditions[?(@.type=="PodScheduled")].message}'
}
tainted() {
    KUBECONFIG=$work/taint sh "$files/taint.sh" 2>&1
    kubectl get node "$name" -o jsonpath='{.spec.taints[*].key}'
}
expect "taint.sh taints the node" "*$name tainted*readiness.k8s.io/cuda" "$(tainted)"
expect "once" 'readiness.k8s.io/cuda' "$(tainted)"
expect "no new pod comes to it" ' *untolerated taint*' "$(kept off)"
turned unknown 'Unknown: NoErrorFound: UNKNOWN *'
expect "unknown leaves the taint" 'readiness.k8s.io/cuda' "$(tainted)"
turned sound 'False: NoErrorFound: cudacompat found no error*'
expect "a sound node loses it" "*$name untainted" "$(tainted)"
waited 60 kubectl wait --for=condition=PodScheduled pod off --timeout=10s
expect "and the pod comes" "$name *" "$(kubectl get pod off -o jsonpath="{.spec.nodeName} ")"

# The feature file, by Node Feature Discovery's local source.
export FEATURES=$work/features.d
mkdir "$FEATURES"
labels() { (cd "$work" && "$BIN/labels" nfd 2>&1); }
for facts in sound=compatible old=incompatible unknown=inconclusive; do
    cp "$work/${facts%=*}.json" "$FACTS"
    sh "$files/nfd.sh"
    expect "NFD's label: ${facts%=*}" "feature.node.kubernetes.io/cudacompat.outcome=${facts#*=}" "$(labels)"
done
KEEP=-1 sh "$files/nfd.sh"
expect "a file that is too old gives none" '' "$(labels)"
