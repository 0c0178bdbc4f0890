"""Runs the commands that findings have on Debian in a root of Debian 12, by hand:

    python3 tools/lab/steps/debian.py BINARY [ROOT]

The commands are those of matrix/testdata, judged as Debian hosts. What installs is apt-get --dry-run, and what needs a GPU,
a reboot or the network is a program that does nothing. Needs root, mmdebstrap and bubblewrap. What it prints did not run:
packages of NVIDIA's own repositories, which the root does not have, are to be expected, and nothing else."""
import glob, json, os, re, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../situations")
from patches import of_case

IDLE = "reboot systemctl modprobe nvidia-smi nvidia-modprobe nvidia-ctk nvidia-cuda-mps-control nvidia-uninstall mount curl gpg dpkg".split()


def commands(binary, kernel, scratch):
    found = {}
    for case in sorted(glob.glob("matrix/testdata/*/fires*.txtar") + glob.glob("matrix/testdata/*/warns*.txtar")):
        parts = re.split(r"^-- (\S+) --\n", open(case).read(), flags=re.M)
        files = dict(zip(parts[1::2], parts[2::2]))
        if "target.json" in files: continue
        facts = of_case("matrix/testdata/machines", parts[0], files); system = facts.setdefault("system", {})
        if system.get("container"): continue
        system.update(id="debian", id_like="", os="Debian GNU/Linux 12 (bookworm)", kernel=kernel)
        given = scratch + "/facts.json"; open(given, "w").write(json.dumps(facts))
        out = subprocess.run([binary, "check", given, "-o", "json"], capture_output=True, text=True).stdout
        for f in json.loads(out)["findings"]:
            steps = f["steps"] + [s for p in f["pins"] for s in p["steps"]]
            for run in [s["run"] for s in steps if s["run"]] + [c for p in f["pins"] for tool, c in p["commands"].items() if tool == "apt"]:
                found.setdefault(run, f["rule"])
    return found


def stubs(directory):
    def program(name, text): path = f"{directory}/{name}"; open(path, "w").write("#!/bin/sh\n" + text + "\n"); os.chmod(path, 0o755)
    program("sudo", 'exec "$@"')
    program("apt-get", 'case "$1" in update) exit 0 ;; esac\nexec /usr/bin/apt-get -o APT::Sandbox::User=root --dry-run -q "$@"')
    for name in IDLE: program(name, "echo '# idle'")


def main(binary, root=None):
    with tempfile.TemporaryDirectory() as scratch:
        if root is None:
            root = scratch + "/root"
            subprocess.run(["mmdebstrap", "--variant=apt", "--components=main contrib non-free non-free-firmware", "--skip=cleanup/apt/lists",
                            "--include=sudo,kmod,dkms,initramfs-tools,ca-certificates", "bookworm", root], check=True)
        directory = scratch + "/stub"; os.mkdir(directory); stubs(directory)
        inside = ["bwrap", "--bind", root, "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", directory, "/stub"]
        names = subprocess.run([*inside, "apt-cache", "pkgnames", "linux-headers-6.1.0"], capture_output=True, text=True).stdout.split()
        kernel = next(n for n in names if re.fullmatch(r"linux-headers-[\d.]+-\d+-amd64", n)).removeprefix("linux-headers-")
        ran = 0; left = []
        for command, rule in commands(os.path.abspath(binary), kernel, scratch).items():
            if "pip " in command or command.startswith(("/opt/", "uv ", "python3", "conda")): continue  # of an environment
            r = subprocess.run([*inside, "--setenv", "PATH", "/stub:/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-c", command], capture_output=True, text=True)
            if r.returncode == 0: ran += 1
            else: left.append(f"{rule}: {command}\n    " + "; ".join((r.stdout + r.stderr).strip().splitlines()[-2:]))
        print(*left, sep="\n"); print(f"{ran} commands ran, {len(left)} did not")


if __name__ == "__main__": main(*sys.argv[1:])
