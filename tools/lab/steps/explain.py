"""Runs the commands that `explain` tells for the line of every signature, by hand:

    python3 tools/lab/steps/explain.py BINARY

They run under bubblewrap on this machine's own files, which they cannot change, without a network. What needs a GPU, a
service or a network is a program that does nothing. What it prints could not be parsed, found no program, or was refused for
its options; that a command found nothing is an answer."""
import glob, json, os, re, subprocess, sys, tempfile

IDLE = """nvidia-smi nvidia-ctk nvidia-modprobe nvidia-container-cli systemctl journalctl docker podman kubectl apptainer squeue
sacct scontrol reboot modprobe mokutil dkms dnf apt apt-get conda ollama hashcat clinfo vulkaninfo compute-sanitizer cuda-gdb gdb nvcc
ray py-spy ibv_devinfo ibstat fi_info mpirun torchrun dcgmi nv-fabricmanager numactl nvme cmake rocminfo rocm-smi bcdedit wsl.exe
helm ctr crictl nerdctl singularity enroot srun sinfo lspci dmesg getenforce aa-status cudacompat pip uv curl wget git mount gst-inspect-1.0""".split()
REFUSED = re.compile(r"invalid option|unrecognized option|unknown option|illegal option|[Uu]sage:|syntax error|command not found|: not found")


def commands(binary):
    found = {}
    for path in sorted(glob.glob("data/signature/*.txt")):
        for line in re.findall(r"^seen: (.*)$", open(path).read(), re.M):
            out = subprocess.run([binary, "explain", "-", "--no-here", "-o", "json"], input=line + "\n", capture_output=True, text=True).stdout
            answer = json.loads(out)
            for step in answer["steps"]:
                if step["run"]: found.setdefault(step["run"], answer["cause"])
    return found


def main(binary):
    with tempfile.TemporaryDirectory() as stub:
        def program(name, text): path = f"{stub}/{name}"; open(path, "w").write("#!/bin/sh\n" + text + "\n"); os.chmod(path, 0o755)
        for name in IDLE: program(name, "exit 0")
        program("sudo", 'exec "$@"'); program("python", 'case "$2" in torch*|pip|bitsandbytes|xformers*|vllm*) exit 0 ;; esac\nexec python3 "$@"')
        inside = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--ro-bind", stub, "/tmp/stub",
                  "--unshare-net", "--unshare-pid", "--chdir", "/tmp", "--setenv", "PATH", "/tmp/stub:/usr/sbin:/usr/bin:/sbin:/bin"]
        ran, left = 0, []
        for command, cause in commands(os.path.abspath(binary)).items():
            try: r = subprocess.run([*inside, "bash", "-c", command], capture_output=True, text=True, errors="replace", timeout=30, stdin=subprocess.DEVNULL)
            except subprocess.TimeoutExpired: left.append(f"{cause}: {command}\n    did not end"); continue
            if r.returncode in (126, 127) or REFUSED.search(r.stderr): left.append(f"{cause}: {command}\n    " + "; ".join(r.stderr.strip().splitlines()[-2:]))
            else: ran += 1
        print(*left, sep="\n"); print(f"{ran} commands ran, {len(left)} did not")


if __name__ == "__main__": main(*sys.argv[1:])
