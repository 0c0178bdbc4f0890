#!/usr/bin/env python3
"""Compares what check --env foretells of an installer's plan with what doctor finds once the plan was carried out.

    python3 tools/guardtruth/guardtruth.py CUDACOMPAT DIR [NAME...]

By hand, never in CI: it installs gigabytes with uv and pip into copies (hard links) of twelve environments, which it
makes under DIR when they are not there. Each change is foretold before each machine, made, and looked at by doctor.
Nothing may be called compatible that doctor calls incompatible; what the forecast leaves unknown has a reason, which is
printed. Names of environments or of changes choose some of them.
"""
import json
import os
import shutil
import subprocess
import sys

MACHINES = [("550.90.07", "L4"), ("580.95.05", "RTX 5090"), ("535.183.01", "V100"), ("580.178.04", "H100")]

ENVIRONMENTS = {
    "torch26": ["torch==2.6.0", "torchvision==0.21.0"],
    "torch210": ["torch==2.10.0", "torchvision==0.25.0", "xformers==0.0.35", "pip"],
    "jax": ["jax[cuda12]==0.6.2", "onnxruntime-gpu==1.22.0", "pip"],
    "torch29": ["torch==2.9.1", "torchvision==0.24.1", "torchaudio==2.9.1", "pip"],
    "torch214": ["torch==2.14.1", "torchvision==0.29.1", "pip"],
    "torch215": ["torch==2.15.0", "torchvision==0.29.2"],
    "jax13": ["jax[cuda13]==0.10.2"],
    "tensorflow": ["tensorflow[and-cuda]==2.19.0", "pip"],
    "cupy": ["cupy-cuda12x[ctk]==14.1.1", "pip"],
    "onnx": ["onnxruntime-gpu[cuda,cudnn]==1.22.0", "pip"],
    "boost": ["xgboost==3.0.5", "lightgbm==4.6.0", "ctranslate2==4.8.4", "pip"],
    "plain": ["numpy<2", "requests", "pip"],
}

CHANGES = {
    "torch26": """
        install torchaudio
        install torchaudio==2.6.0
        install --no-deps torchvision==0.20.1
        install xformers==0.0.29.post3
        install --no-deps xformers==0.0.35
        install xformers
        install -U nvidia-cudnn-cu12
        install --no-deps nvidia-cudnn-cu12==9.5.1.17
        install --no-deps nvidia-cublas-cu12==12.6.4.1
        install --no-deps nvidia-cusparse-cu12==12.5.4.2
        uninstall nvidia-cudnn-cu12
        uninstall nvidia-nccl-cu12
        uninstall nvidia-cusparselt-cu12
        uninstall torch
        uninstall triton
        uninstall torchvision
        install --no-deps triton==3.1.0
        install --no-deps torch==2.10.0
        install jax[cuda12]==0.6.2
        install onnxruntime-gpu==1.22.0
        install numpy<2
        install tensorflow==2.19.0
        install requests
        install bitsandbytes
        install transformers accelerate
        install --reinstall-package=torch torch==2.6.0""",
    "torch210": """
        install torchaudio
        install torchaudio==2.10.0
        install torch==2.6.0
        install torch==2.6.0 torchvision==0.21.0
        install -U torch
        uninstall xformers
        uninstall torch
        install flashinfer-python
        install torchao
        install torchcodec
        install onnxruntime
        install nvidia-nccl-cu13
        install --no-deps nvidia-cudnn-cu13
        install --no-deps nvidia-nvjitlink-cu12==12.4.127
        install --no-deps nvidia-cudnn-cu12==9.1.0.70
        install --no-deps nvidia-nccl-cu12==2.21.5
        install vllm==0.19.1
        pip install torchaudio
        pip install --no-deps xformers==0.0.29.post3
        pip uninstall -y nvidia-cublas-cu12
        pip install --no-deps torchvision==0.24.0
        pip install --no-deps nvidia-cusolver-cu12==11.6.1.9""",
    "jax": """
        install nvidia-curand-cu12
        install -U jax[cuda12]
        install --no-deps jaxlib==0.5.3
        install --no-deps jax==0.7.2
        install onnxruntime==1.22.0
        install -U onnxruntime-gpu
        uninstall jax-cuda12-plugin
        uninstall jax-cuda12-pjrt
        uninstall nvidia-cusparse-cu12
        uninstall jax jaxlib
        install --no-deps nvidia-cudnn-cu12==9.1.0.70
        install jax[cuda13]
        install cupy-cuda12x
        install torch==2.6.0
        pip install --no-deps jaxlib==0.4.38
        pip uninstall -y nvidia-nccl-cu12""",
    "torch29": """
        install -U torchvision
        install --no-deps torchaudio==2.8.0
        install xformers==0.0.33.post2
        install --no-deps xformers==0.0.32.post2
        install torchcodec==0.9.1
        install --no-deps nvidia-nccl-cu12==2.29.7
        install --no-deps nvidia-nvshmem-cu12==3.2.5
        uninstall nvidia-cublas-cu12
        install --no-deps bitsandbytes==0.48.2
        install --no-deps vllm==0.13.0
        pip uninstall -y torchvision
        pip install --no-deps triton==3.4.0""",
    "torch214": """
        install -U torch
        install --no-deps torch==2.15.0
        install torchaudio
        install xformers
        install torchcodec
        install torchao
        uninstall nvidia-cudnn-cu13
        install --no-deps nvidia-cudnn-cu13==9.12.0.46
        install --no-deps vllm==0.33.0
        pip install --no-deps torchvision==0.29.2""",
    "torch215": """
        install --no-deps torchvision==0.29.1
        install --no-deps nvidia-nccl-cu13==2.27.7
        install torchaudio
        uninstall triton
        uninstall nvidia-cusparselt-cu13""",
    "jax13": """
        install -U jax[cuda13]
        install --no-deps jaxlib==0.9.0
        uninstall jax-cuda13-pjrt
        uninstall nvidia-cublas
        install --no-deps nvidia-cudnn-cu13==9.12.0.46
        install torch==2.14.1""",
    "tensorflow": """
        install numpy<2
        uninstall nvidia-cudnn-cu12
        install --no-deps nvidia-cudnn-cu12==8.9.7.29
        install --no-deps tensorflow==2.20.0
        install -U keras
        install jax[cuda12]==0.6.2
        pip uninstall -y nvidia-cusolver-cu12
        pip install --no-deps numpy==1.26.4""",
    "cupy": """
        install cupy-cuda12x==14.2.0
        uninstall nvidia-cublas-cu12
        install --no-deps cupy-cuda13x==14.2.0
        install cudf-cu12==26.10.2
        pip uninstall -y cupy-cuda12x""",
    "onnx": """
        install onnxruntime==1.22.0
        install -U onnxruntime-gpu
        uninstall nvidia-cudnn-cu12
        install --no-deps nvidia-cudnn-cu12==8.9.7.29
        pip install --no-deps onnxruntime==1.22.1""",
    "boost": """
        install -U xgboost
        uninstall nvidia-nccl-cu12
        install --no-deps ctranslate2==4.8.5
        install lightgbm==4.7.0
        pip install --no-deps xgboost==3.1.0""",
    "plain": """
        install torch==2.9.1
        install onnxruntime-gpu==1.22.0
        install requests==2.31.0
        install bitsandbytes
        install transformers
        pip install --no-deps faiss-gpu-cu12""",
}


def run(argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, **more)


def command(env, change, dry):
    """The installer's argv for a change of an environment."""
    words = change.split()
    python = env + "/bin/python"
    if words[0] == "pip":
        if not dry:
            return [python, "-m", "pip", "-q"] + words[1:]
        return [python, "-m", "pip", "install", "--dry-run", "-q", "--report", "-"] + words[2:]
    return ["uv", "pip", words[0], "--python", python] + (["--dry-run"] if dry else []) + words[1:]


def judged(tool, arguments, stdin=None):
    out = run([tool] + arguments + ["-o", "json"], input=stdin)
    try:
        return json.loads(out.stdout)
    except ValueError:
        sys.exit("no report: %s: %s" % (arguments, out.stderr))


def broken(report):
    """What does not work: by its answer, or by an error where it has none; not what only misses a broken torch."""
    names = {a["subject"].split()[0] for a in report["answers"] if a["answer"] == "broken" and a["counts"]}
    names |= {f["subject"].split()[0] for f in report["findings"] if f["severity"] == "error"}
    return sorted({"torch"} | names & {"jax", "tensorflow"}) if "torch" in names else sorted(names)


def untold(report):
    names = {a["subject"].split()[0] for a in report["answers"] if a["answer"] == "unknown" and a["counts"]}
    return names | {u["subject"].split()[0] for u in report["unknown"]}


def reasons(report):
    return sorted({"%s: %s" % (u["subject"].split(" in ")[0], u["missing"]) for u in report["unknown"]})


def plan_of(copy, change):
    if change.startswith("pip uninstall"):  # pip has no dry run of it; guard reads the names
        names = change.split()[3:]
        return "Would uninstall %d package%s\n" % (len(names), "s"[len(names) == 1:]) + "".join(
            " - %s==0\n" % n for n in names)
    done = run(command(copy, change, True))
    return done.stdout + done.stderr if done.returncode == 0 else None


def main():
    tool, base, chosen = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
    same = fine_but_broken = unknown = other = total = 0
    for name, packages in ENVIRONMENTS.items():
        env = "%s/%s" % (base, name)
        changes = [c.strip() for c in CHANGES[name].split("\n") if c.strip()]
        changes = [c for c in changes if not chosen or name in chosen or c in chosen]
        if not changes:
            continue
        if not os.path.exists(env):
            run(["uv", "venv", "-q", env], check=True)
            made = run(["uv", "pip", "install", "-q", "--python", env + "/bin/python"] + packages)
            if made.returncode != 0:
                shutil.rmtree(env)
                print("left out  %-9s %s" % (name, made.stderr.strip().split("\n")[-1]), flush=True)
                continue
        for change in changes:
            copy = env + "-copy"
            shutil.rmtree(copy, ignore_errors=True)
            run(["cp", "-al", env, copy], check=True)
            plan = plan_of(copy, change)
            if plan is None:
                print("no plan   %-9s %s" % (name, change), flush=True)
                continue
            where = [["--driver", d, "--gpu", g] for d, g in MACHINES]
            foretold = [judged(tool, ["check", "-", "--env", copy] + w, plan) for w in where]
            done = run(command(copy, change, False))
            if done.returncode != 0:
                print("not done  %-9s %s: %s" % (name, change, done.stderr.strip().split("\n")[-1]), flush=True)
                continue
            for machine, w, f in zip(MACHINES, where, foretold):
                is_ = judged(tool, ["doctor", "--env", copy] + w)
                total += 1
                words = "same"
                if f["outcome"] == is_["outcome"] and (f["outcome"] != "incompatible" or broken(f) == broken(is_)):
                    same += 1
                elif f["outcome"] == "compatible" and is_["outcome"] == "incompatible":
                    words, fine_but_broken = "WRONG", fine_but_broken + 1
                elif f["outcome"] == "inconclusive" or set(broken(is_)) - set(broken(f)) <= untold(f) and not (
                        set(broken(f)) - set(broken(is_))):
                    words, unknown = "unknown", unknown + 1
                else:
                    words, other = "other", other + 1
                line = "%-9s %-9s %-50s %-20s %s -> %s" % (words, name, change, " ".join(machine), f["outcome"],
                                                         is_["outcome"])
                if words != "same":
                    line += "\n          foretold broken %s, is %s" % (broken(f), broken(is_))
                    for reason in reasons(f)[:3]:
                        line += "\n          ? " + reason
                print(line, flush=True)
        shutil.rmtree(env + "-copy", ignore_errors=True)
    print("%d: %d the same, %d unknown beforehand, %d otherwise, %d called fine and broken" % (
        total, same, unknown, other, fine_but_broken))
    sys.exit(fine_but_broken > 0)


main()
