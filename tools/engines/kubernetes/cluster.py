"""What kubernetes.sh makes in the cluster (nodes, slices, pods), and how it judges where pods landed (compare)."""
import csv
import json
import subprocess
import sys
from pathlib import Path


def pools(file):
    return list(csv.DictReader(open(file)))


def names(pool):
    return [f"{pool['pool']}-{i:02}" for i in range(int(pool["nodes"]))]


def listed(items):
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}))


def nodes(pools_file, labels_file):
    """A node of a pool, with the labels of one line of the file."""
    def node(name, pool, labels):
        room = {"cpu": "96", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": pool["count"]}
        labels = {**labels, "kubernetes.io/arch": pool["arch"], "kubernetes.io/hostname": name, "pool": pool["pool"]}
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
                "status": {"capacity": room, "allocatable": room}}
    labels = map(json.loads, open(labels_file))
    listed(node(name, pool, line) for pool, line in zip(pools(pools_file), labels) for name in names(pool))


def dotted(version):
    """A version as semantic versioning has it: NVIDIA's DRA driver writes what Masterminds' semver makes of it."""
    return ".".join(str(int(part)) for part in (version.split(".") + ["0", "0"])[:3])


def slices(pools_file):
    """The devices of each node, as NVIDIA's DRA driver publishes them, with its class."""
    def attributes(pool, i):
        texts = {"type": "gpu", "uuid": f"GPU-{i}", "productName": pool["gpu"], "brand": "Nvidia", "architecture": "",
                 "pcieBusID": f"0000:{i:02x}:00.0", "addressingMode": "HMM"}
        versions = {"cudaComputeCapability": pool["capability"], "driverVersion": pool["driver"],
                    "cudaDriverVersion": pool["cuda"]}
        return {**{k: {"string": v} for k, v in texts.items()},
                **{k: {"version": dotted(v)} for k, v in versions.items()}}

    def node_slice(name, pool):
        # A GPU that is passed through to a virtual machine has no driver and no capability.
        passed = {"type": {"string": "vfio"}, "productName": {"string": pool["gpu"]}}
        devices = [{"name": "gpu-vfio-0", "attributes": passed}]
        devices += [{"name": f"gpu-{i}", "attributes": attributes(pool, i),
                     "capacity": {"memory": {"value": pool["memory"] + "Mi"}}} for i in range(int(pool["count"]))]
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name},
                "spec": {"driver": "gpu.nvidia.com", "nodeName": name, "devices": devices,
                         "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}}}
    kind = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"
    listed([{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"},
             "spec": {"selectors": [{"cel": {"expression": kind}}]}}] +
           [node_slice(name, pool) for pool in pools(pools_file) for name in names(pool)])


def pods(pools_file, needs, form):
    """For each artefact a pod that may go anywhere, and one for each pool; as YAML, since an affinity is."""
    for file in sorted(Path(needs).glob("*." + form)):
        for pool in ["any"] + [p["pool"] for p in pools(pools_file)]:
            name = f"a{file.stem}-{pool}"
            print(f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:")
            if pool != "any":
                print(f"  nodeSelector: {{pool: {pool}}}")
            if form == "nodeaffinity":
                print("  affinity:\n" + "".join("    " + line for line in open(file)), end="")
                print("  containers: [{name: c, image: registry.example/c, resources: {limits: {nvidia.com/gpu: 1}}}]")
                continue
            print("  containers: [{name: c, image: registry.example/c, resources: {claims: [{name: gpu}]}}]")
            print(f"  resourceClaims: [{{name: gpu, resourceClaimName: {name}}}]")
            request = {"deviceClassName": "gpu.nvidia.com", "selectors": [{"cel": {"expression": file.read_text()}}]}
            print("---\n" + json.dumps({
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name},
                "spec": {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}}))


def scheduled():
    """For each pod its node, or None where the scheduler found none; nothing while it has not looked."""
    found = json.loads(subprocess.check_output(["kubectl", "get", "pods", "-o", "json"]))["items"]
    placed = {}
    for pod in found:
        looked = [c for c in pod["status"].get("conditions", []) if c["type"] == "PodScheduled"]
        if looked:
            placed[pod["metadata"]["name"]] = pod["spec"].get("nodeName")
    return placed, len(found)


def looked_at():
    placed, all_of_them = scheduled()
    sys.exit(len(placed) != all_of_them)


def compare(pools_file, needs, form):
    """A pod may be only where check calls its artefact compatible, and must be where it is, but for what the format
    says that it leaves out."""
    placed, _ = scheduled()
    capability = {p["pool"]: p["capability"] for p in pools(pools_file)}
    counts = dict.fromkeys(
        ["artefacts", "silent", "pods", "landed", "pending", "broken", "kept out", "left out, as said"], 0)
    for file in sorted(Path(needs).glob("*.check")):
        runs = {pool for pool, code in csv.reader(open(file)) if code == "0"}
        counts["artefacts"] += 1
        need = file.with_suffix("." + form)
        if not need.exists():
            counts["silent"] += 1
            if runs:
                print(f"  {form} says nothing of {file.with_suffix('.txt').read_text().split()}, which runs on {runs}")
                counts["kept out"] += 1
            continue
        left = [line for line in open(need) if "left out:" in line]
        said = {pool for pool in runs if any(f"({capability[pool]})" in line for line in left)}
        for pool in ["any", *capability]:
            name = f"a{file.stem}-{pool}"
            node = placed[name]
            where = node.rsplit("-", 1)[0] if node else None
            could = runs if pool == "any" else runs & {pool}
            outcome = "landed" if node else "pending"
            counts["pods"] += 1
            counts[outcome] += 1
            if node and where not in could:
                outcome = "broken"
            elif not node and could - said:
                outcome = "kept out"
            elif not node and could:
                outcome = "left out, as said"
            else:
                continue
            counts[outcome] += 1
            print(f"  {outcome}: {file.with_suffix('.txt').read_text().split()} on {where or pool}")
    print(f"{form}: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    ok = not counts["broken"] and not counts["kept out"] and counts["landed"] and counts["pending"]
    print(f"{'ok    ' if ok else 'WRONG '} {form}: no pod is on a node that cannot run it, none is kept out that could")
    sys.exit(not ok)


if __name__ == "__main__":
    commands = {"nodes": nodes, "slices": slices, "pods": pods, "looked-at": looked_at, "compare": compare}
    commands[sys.argv[1]](*sys.argv[2:])
