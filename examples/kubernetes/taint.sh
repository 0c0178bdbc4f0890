#!/bin/sh
# Keeps new pods off the nodes whose condition CUDAIncompatible is True, and lets them back when it is False. While it is
# Unknown the taint stays as it was. Run it every minute, from a CronJob for instance, by someone who may get, list and
# patch nodes. Node Readiness Controller does the same by node-readiness-rule.yaml, but for Unknown.
taint=readiness.k8s.io/cuda
kubectl get nodes -o go-template='{{range $node := .items}}{{range .status.conditions}}{{if eq .type "CUDAIncompatible"}}{{
    $node.metadata.name}} {{.status}}{{range $node.spec.taints}} {{.key}}{{end}}{{"\n"}}{{end}}{{end}}{{end}}' |
    while read -r node status taints; do
        case "$status $taints " in
            "True "*"$taint "*) ;;
            "True "*) kubectl taint nodes "$node" "$taint=incompatible:NoSchedule" ;;
            "False "*"$taint "*) kubectl taint nodes "$node" "$taint-" ;;
        esac
    done
