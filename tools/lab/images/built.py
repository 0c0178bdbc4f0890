#!/usr/bin/env python3
"""Compares `check IMAGE` with `doctor --root` on the unpacked tree, for images of buildah, umoci and skopeo.

    built.py CUDACOMPAT TREE SOURCE... [-- GPU:DRIVER ...]

A SOURCE is the name of an image, or, behind a "|", a command whose output is an archive: "|skopeo copy -q oci:DIR:TAG
docker-archive:/dev/stdout". Each is read once; what was read is judged for every target, and so is TREE. Without targets
they are those of TARGETS, where a cuda-compat is needed, of no use, refused or unsupported.

It prints a line for each target, with what differs in outcome, answers, findings and unknown, then the facts that differ
and their values, which are to be what the configuration alone tells. Findings of container-requirements are left out:
NVIDIA_REQUIRE_CUDA stands in the configuration. Exit code 1 if a judgement differs.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import damaged

TARGETS = ["L4:535.274.02", "H100:535.274.02", "L4:550.163.01", "H100:550.163.01", "H100:570.133.20", "L4:580.95.05",
           "H100:580.178.04", "H100:590.48.01", "GeForce RTX 4090:535.274.02", "GeForce RTX 4090:580.178.04",
           "H100:525.105.17", "T4:535.274.02", "P100:535.274.02", "B200:580.95.05"]
JUDGED = ["outcome", "answers", "findings", "unknown"]


def flags(target):
    gpu, driver = target.rsplit(":", 1)
    return ["--timeout", "40m", "-o", "json", "--gpu", gpu, "--driver", driver]


def read(program, source, target):
    if not source.startswith("|"):
        return damaged.run([program, "check", source] + flags(target))
    with subprocess.Popen(source[1:], shell=True, stdout=subprocess.PIPE) as writer:
        return damaged.run([program, "check", "-"] + flags(target), writer.stdout)


def value(report, path):
    """What stands at a path as damaged.differences writes it."""
    for step in path.replace("[", ".").replace("]", "").split(".")[1:]:
        report = report[int(step)] if isinstance(report, list) else (report or {}).get(step)
    return report


def main():
    arguments, targets = sys.argv[1:], TARGETS
    if "--" in arguments:
        at = arguments.index("--")
        arguments, targets = arguments[:at], arguments[at + 1:]
    program, tree, sources = arguments[0], arguments[1], arguments[2:]
    trees = {t: damaged.run([program, "doctor", "--root", tree] + flags(t))[0] for t in targets}
    wrong = 0
    for source in sources:
        first, cpu, memory = read(program, source, targets[0])
        print(f"{source}: {cpu:.1f} s, {memory:.0f} MB")
        with tempfile.TemporaryDirectory() as work:
            report = pathlib.Path(work) / "report.json"
            report.write_text(json.dumps(first))
            for target in targets:
                have, want = first, trees[target]
                if target != targets[0]:
                    have, _, _ = damaged.run([program, "check", str(report)] + flags(target))
                have["findings"] = [f for f in have["findings"] if f["rule"] != "container-requirements"]
                different = [d for key in JUDGED for d in damaged.differences(have[key], want[key], "." + key)]
                wrong += len(different)
                rules = sorted({f["rule"] for f in want["findings"]})
                print(f"  {target:28} {want['outcome']:13} {', '.join(rules):60} {' '.join(different) or 'same'}")
        for path in damaged.differences(first["facts"], trees[targets[0]]["facts"]):
            print(f"  fact {path}: {value(first['facts'], path)!s:.120}, tree: {value(trees[targets[0]]['facts'], path)!s:.120}")
    sys.exit(min(wrong, 1))


if __name__ == "__main__":
    main()
