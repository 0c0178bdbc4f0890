#!/bin/sh
# Keeps new pods off nodes whose condition CUDAIncompatible is True, and admits them again when it is False. While it is
# Unknown, the taint stays as it was. Run it every minute, for example from a CronJob, with permission to get, list and
# patch nodes. Node Readiness Controller does the same with node-readiness-rule.yaml, but also taints for Unknown.
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
