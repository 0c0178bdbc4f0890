"""Follows the first pin of every engine that asks for a torch: is it a set that the engine itself admits, and does it run?

    engines.py --tool BINARY [--every 1] [--only vllm,...] > table.md

Engines are the packages of data/extension.csv whose releases on the package index ask for a release or a range of
torch. Each release is asked about alone in a requirements file, beside the torch that it asks for, and beside that
torch's next newer and older release, on every driver and GPU. Of every error the first pin that keeps the driver is
held against the table: with an engine in the file a pin of torch alone must be a torch that this release of the engine
admits; one that names both must name two that go together; one that names the engine alone must bring a torch that
goes with the file's. What a pin installs is then asked about again, and must be compatible.
"""
import argparse
import collections
import csv
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "..", "data")
DRIVERS = ["470.57.02", "535.183.01", "550.90.07", "570.86.15", "580.95.05"]
GPUS = ["V100", "T4", "L4", "H100", "RTX 5090"]


def number(text):
    return tuple(int(n) for n in re.findall(r"\d+", re.split(r"(?:rc|\+|post|a|b)", text)[0]))


def admits(requirement, release):
    """Whether a cell of the column torch ("2.13.0", "<=2.2.2,>=2.0.0") admits a release."""
    have = number(release)
    for part in requirement.split(","):
        op, want = re.match(r"([<>=!~]*)(.*)", part).groups()
        want = number(want)
        size = max(len(have), len(want))
        a, b = have + (0,) * (size - len(have)), want + (0,) * (size - len(want))
        if not {"": a == b, "==": a == b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "!=": a != b,
                "~=": a >= b and a[:len(want) - 1] == b[:len(want) - 1]}[op]:
            return False
    return True


def rows():
    """Of every engine, its releases on the index with what they ask for: {name: [(release, requirement)]}."""
    table = collections.defaultdict(list)
    with open(os.path.join(DATA, "extension.csv"), newline="") as f:
        for r in csv.DictReader(f):
            if r["variant"] == "pypi" and r["torch"] and r["cuda"]:
                table[r["package"]].append((r["release"], r["torch"]))
    return table


def torches():
    with open(os.path.join(DATA, "torch.csv"), newline="") as f:
        return sorted({r["release"] for r in csv.DictReader(f) if number(r["release"]) >= (1, 12)}, key=number)


def files(name, release, requirement, known):
    """The requirements files that one release is asked about in."""
    yield f"{name}=={release}\n"
    own = [t for t in known if admits(requirement, t)]
    if not own:
        return
    at = known.index(own[-1])
    for i in {max(at - 1, 0), at, min(at + 1, len(known) - 1)}:
        yield f"{name}=={release}\ntorch=={known[i]}\n"


def ask(tool, text, driver, gpu):
    out = subprocess.run([tool, "check", "-", "-o", "json", "--python", "3.12", "--driver", driver, "--gpu", gpu],
                         input=text, capture_output=True, text=True)
    return json.loads(out.stdout)


def first_pin(finding):
    """What the first pin that keeps the driver installs, {name: release}; None where there is none."""
    for pin in finding["pins"]:
        command = pin["commands"].get("pip", "")
        if pin["package"] != "driver" and "pip install" in command:
            return dict(re.findall(r"([\w-]+)(?:\[[\w,-]+\])?==([\w.+]+)", command)), command
    return None


def wrong(pin, named, requirements):
    """Why what a pin installs does not go together; empty where it does."""
    after = {**named, **pin}
    torch = after.get("torch")
    for name, release in after.items():
        asked = requirements.get((name, release))
        if asked and torch and not admits(asked, torch.split("+")[0]):
            if name in pin or "torch" in pin:
                return f"{name} {release} asks for torch {asked}, the pin leaves {torch}"
    return ""


def judge(tool, text, driver, gpu, requirements):
    """One line for every error of one file on one machine: (kind, what was found)."""
    named = dict(re.findall(r"([\w-]+)==(\S+)", text))
    report = ask(tool, text, driver, gpu)
    for f in report["findings"]:
        if f["severity"] != "error" or f["subject"].startswith("driver"):
            continue
        pin = first_pin(f)
        if pin is None:
            yield ("driver only" if f["pins"] else "no pin"), f["rule"] + ": " + "; ".join(f["do"])
            continue
        why = wrong(pin[0], named, requirements)
        if why:
            yield "does not go together", f["rule"] + ": " + why + ": " + pin[1]
            continue
        after = {**named, **pin[0]}
        index = re.search(r"--index-url (\S+)", pin[1])
        again = "".join(f"{n}=={v}\n" for n, v in after.items()) + (f"--index-url {index[1]}\n" if index else "")
        left = [g["rule"] for g in ask(tool, again, driver, gpu)["findings"] if g["severity"] == "error"]
        if not left:
            yield "runs", pin[1]
        elif len([g for g in report["findings"] if g["severity"] == "error"]) > 1 and f["rule"] not in left:
            yield "one of several", f["rule"] + " left: " + ", ".join(left)
        else:
            yield "does not run", f"{f['rule']}, then {', '.join(left)}: {pin[1]}"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tool", required=True)
    p.add_argument("--every", type=int, default=1, help="only every N-th release, the newest among them")
    p.add_argument("--only", default="")
    a = p.parse_args()
    table, known = rows(), torches()
    requirements = {(n, r): q for n, list_ in table.items() for r, q in list_}
    print("| engine | files × machines | runs | driver only | no pin | one of several | does not go together | does not run |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    bad = collections.Counter()
    example = {}
    for name, list_ in sorted(table.items()):
        if a.only and name not in a.only.split(","):
            continue
        count, asked = collections.Counter(), 0
        for release, requirement in list_[::-1][::a.every]:
            for text in files(name, release, requirement, known):
                for driver in DRIVERS:
                    for gpu in GPUS:
                        asked += 1
                        for kind, what in judge(a.tool, text, driver, gpu, requirements):
                            count[kind] += 1
                            if kind in ("does not go together", "does not run", "no pin"):
                                bad[(name, kind, what)] += 1
                                example.setdefault((name, kind, what), f"{' '.join(text.split())} on {driver}, {gpu}")
        kinds = ("runs", "driver only", "no pin", "one of several", "does not go together", "does not run")
        print(f"| {name} | {asked} | " + " | ".join(str(count[k]) for k in kinds) + " |", flush=True)
    print()
    for key, n in bad.most_common():
        print(f"- {n} × {key[0]}, {key[1]}: {key[2]} ({example[key]})")


if __name__ == "__main__":
    sys.exit(main())
