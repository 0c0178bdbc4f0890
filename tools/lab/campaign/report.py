"""Prints the table of one run: report.py COMMIT RESULTS.jsonl [RESULTS.jsonl ...] > table.md"""
import collections
import json
import re
import sys

ORDER = ["missed", "missed-here", "quiet", "alarm", "misplaced", "unknown", "silent", "hit-elsewhere", "hit", "agree", "unprovable"]
MEANING = {
    "missed": "proven broken or CPU-only, and the tool's outcome is `compatible`, or it answers `works`",
    "missed-here": "proven broken; the outcome is not `compatible`, but this subject's answer is `works`",
    "quiet": "proven broken, the subject's answer is `broken` or `works-cpu-only`, and yet the outcome is `compatible` and the exit code 0",
    "alarm": "proven healthy, and the tool answers `broken` or `works-cpu-only`",
    "misplaced": "proven healthy, and the tool answers `broken`; what is broken is another module of the same environment",
    "unknown": "proven either way, and the tool answers `unknown`",
    "silent": "proven healthy or CPU-only, and the tool has no answer for it",
    "hit-elsewhere": "proven broken; the tool says `incompatible` for another reason and has no answer for this subject",
    "hit": "proven broken, and the tool says so",
    "agree": "proven healthy or CPU-only, and the tool says so",
    "unprovable": "neither could be proven without a GPU",
}

IN_TORCH = ("torchvision", "torchaudio", "torchao", "torchcodec", "xformers", "bitsandbytes", "vllm")


def clean(text, size=110):
    text = re.sub(r"(/[\w.+~-]+)+/site-packages/", "", " ".join(str(text).split()).replace("|", "/"))
    text = re.sub(r"/(work|root|tmp|home)/[^\s'\":,\])]*", "…", text)
    return text[:size] + ("…" if len(text) > size else "")


def through(row):
    """A module that fails because the first one fails is named there: one cause, one miss."""
    names = list(row["subjects"])
    first = row["subjects"][names[0]] if names else None
    for name in names[1:]:
        s = row["subjects"][name]
        if first["class"] in ("hit", "unknown") and s["class"].startswith("missed") and s["loaded"] == first["loaded"] == "broken" \
                and (s["why"] == first["why"] or first["why"].split(":")[0] in ("ImportError", "ModuleNotFoundError")):
            s["class"] = "hit-elsewhere"
    broken = [n for n in names if row["subjects"][n]["proof"] == "broken"]
    for name in names:
        s = row["subjects"][name]
        if s["proof"] == "healthy" and name in IN_TORCH and "torch" in broken:
            s.update(proof="unprovable", why="loads, but runs in a torch that is broken", **{"class": "unprovable"})
        elif s["class"] == "alarm" and broken:
            s["class"] = "misplaced"


def read(paths):
    lines = [json.loads(line) for path in paths for line in open(path)]
    rows = {(l["env"], l["damage"], l["machine"]): l for l in lines if "subjects" in l}  # a later run of a triple counts
    for row in rows.values():
        through(row)
    return (list(rows.values()), [l for l in lines if "pin" in l], [l for l in lines if "build" in l])


def short(why):
    """The proof in one line, without the list of folders that torch adds."""
    return clean(re.sub(r" in the system path \[.*", "", why.replace("\n", " ")))


def summary(rows):
    count = collections.Counter(s["class"] for r in rows for s in r["subjects"].values())
    proofs = collections.Counter(s["proof"] for r in rows for s in r["subjects"].values())
    triples = collections.Counter()
    for r in rows:
        classes = {s["class"] for s in r["subjects"].values()}
        triples[next((c for c in ORDER if c in classes), "nothing to prove")] += 1
    pairs = len({(r["env"], r["damage"]) for r in rows})
    print(f"{len({r['env'] for r in rows})} environments, {pairs} states (as installed or damaged), {len(rows)} triples. "
          f"Proofs by subject: {', '.join(f'{n} {p}' for p, n in proofs.most_common())}.\n")
    print("| class | subjects | triples (worst subject) | meaning |\n|---|---|---|---|")
    for name in ORDER:
        print(f"| {name} | {count[name]} | {triples[name]} | {MEANING[name]} |")
    print()


def figures(rows):
    """The headline: a triple is proven broken where one of its modules is, and healthy where one is and none is not."""
    count = collections.Counter()
    for r in rows:
        subjects = r["subjects"].values()
        proofs, classes = {s["proof"] for s in subjects}, {s["class"] for s in subjects}
        sound = r["exit"] == 0 and "alarm" not in classes
        if proofs & {"broken", "cpu-only"}:
            count["proven broken, or to use the CPU only"] += 1
            count["- missed"] += bool(classes & {"missed", "missed-here"})
            count["- the answer is `unknown`"] += not classes & {"missed", "missed-here", "hit", "quiet"} and "unknown" in classes
            count["- quiet (`works-cpu-only`, exit 0)"] += not classes & {"missed", "missed-here"} and "quiet" in classes
            count["- broken said of a sound module, too"] += "misplaced" in classes
        elif "healthy" in proofs:
            count["proven healthy"] += 1
            count["- alarmed: an error or 3"] += not sound and "unprovable" not in proofs
            count["- an error or 3, beside a module that cannot be proven"] += not sound and "unprovable" in proofs
        else:
            count["unprovable without a GPU" if proofs else "nothing in it uses CUDA"] += 1
    print("| | triples |\n|---|---|")
    for name, n in count.items():
        print(f"| {name} | {n} |")
    print(f"| wrong facts | {len({(r['env'], r['damage'], w) for r in rows for w in r['wrong'] or []})} |\n")


def group(rows, wanted):
    """(environment, damage, subject, proof, answer) to the machines."""
    groups = collections.OrderedDict()
    for r in rows:
        for name, s in r["subjects"].items():
            if s["class"] in wanted:
                key = (r["env"], r["damage"], name, short(s["why"]), s["answer"], r["outcome"])
                groups.setdefault(key, []).append(r["machine"])
    return groups


def section(title, rows, wanted):
    groups = group(rows, wanted)
    print(f"### {title} ({len(groups)})\n")
    if not groups:
        print("None.\n")
        return
    print("| environment | damage | subject | proof | the tool | machines |\n|---|---|---|---|---|---|")
    for (env, damage, name, why, answer, outcome), machines in groups.items():
        print(f"| {env} | {damage or '(as installed)'} | {clean(name, 60)} | {why} | {answer}; {outcome} | {', '.join(machines)} |")
    print()


def causes(rows):
    """Misses by subject: what a developer mends first."""
    count = collections.Counter()
    seen = collections.defaultdict(set)
    for r in rows:
        for name, s in r["subjects"].items():
            if s["class"] in ("missed", "missed-here"):
                subject = "library" if name.startswith("library ") else name
                count[(subject, s["answer"])] += 1
                seen[(subject, s["answer"])].add(r["damage"] or f"{r['env']} as installed")
    print("### Misses by subject\n\n| subject | the tool's answer | triples | where |\n|---|---|---|---|")
    for (subject, answer), n in count.most_common():
        print(f"| {subject} | {answer} | {n} | {clean(', '.join(sorted(seen[(subject, answer)])), 400)} |")
    print()


def facts(rows):
    wrong = collections.OrderedDict()
    for r in rows:
        for w in r["wrong"] or []:
            wrong.setdefault((r["env"], r["damage"], w), 0)
    print(f"### Wrong facts ({len(wrong)})\n")
    for env, damage, text in wrong:
        print(f"- {env}, {damage or 'as installed'}: {clean(text, 200)}")
    print()


def surprises(rows):
    """Where the expectation, written before, did not come true: the yardstick's own errors."""
    print("### Expectations that the oracle refuted\n")
    seen = set()
    for r in rows:
        states = {s["loaded"] for s in r["subjects"].values()}
        expect = r["expect"]
        refuted = (expect == "broken" and "broken" not in states) or (expect in ("works", "same") and "broken" in states)
        if refuted and states and (r["env"], r["damage"]) not in seen:
            seen.add((r["env"], r["damage"]))
            why = [f"{n}: {short(s['why'])}" for n, s in r["subjects"].items() if s["loaded"] == "broken"]
            print(f"- {r['env']}, {r['damage'] or 'as installed'}: expected {expect}, found {', '.join(sorted(states))}"
                  f"{' — ' + clean('; '.join(why), 220) if why else ''}")
    print()


def pins(lines):
    good = sum(1 for p in lines if p["ran"] == "yes" and all(v[0] != "broken" for v in p["after"].values()))
    ran = sum(1 for p in lines if p["ran"] == "yes")
    print(f"### First pins followed ({len(lines)}): {ran} ran, {good} left no module broken\n")
    print("| environment | damage | rule | command (as followed on the default index) | ran | modules after | the tool after |\n|---|---|---|---|---|---|---|")
    for p in lines:
        after = "; ".join(f"{m} {v[0]}" + (f" ({short(v[1])})" if v[0] == "broken" else "") for m, v in p["after"].items())
        print(f"| {p['env']} | {p['damage'] or '(as installed)'} | {p['rule']} | `{clean(p['followed'], 160)}` | {clean(p['ran'])} | "
              f"{clean(after, 240)} | {p['tool_after']} |")
    print()


def main():
    rows, pinned, failed = read(sys.argv[2:])
    print(f"## Main at {sys.argv[1]}\n")
    figures(rows)
    summary(rows)
    causes(rows)
    section("Missed", rows, {"missed"})
    section("Missed here, incompatible elsewhere", rows, {"missed-here"})
    section("Said, and yet compatible", rows, {"quiet"})
    section("False alarms", rows, {"alarm"})
    section("Broken said of the wrong module", rows, {"misplaced"})
    section("Unknown though provable", rows, {"unknown"})
    section("Healthy or CPU-only, and no answer", rows, {"silent"})
    facts(rows)
    surprises(rows)
    if pinned:
        pins(pinned)
    if failed:
        print("### Not built\n")
        for f in failed:
            print(f"- {f['env']} {f.get('damage', '')}: {clean(f['build'], 200)}")


main()
