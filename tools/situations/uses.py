#!/usr/bin/env python3
"""Plays the three uses that docs/uses.md advertises, with the commands of the files in examples/, on machines that are not
there, and writes what they print into that page.

    python3 uses.py BINARY           # plays them and writes docs/uses.md
    python3 uses.py BINARY --check   # fails if the page differs

What Docker, Packer and cloud-init do with a command is done here as they do it: Docker runs the words of CMD; Packer's shell
provisioner runs its lines as one script of /bin/sh -e; cloud-init's runcmd makes one script of /bin/sh of its list."""
import json, os, re, shlex, shutil, stat, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "../..")
PAGE = TOP + "/docs/uses.md"
BEGIN, END = "<!-- written by make uses -->\n", "<!-- end of what make uses writes -->\n"
SLOW = 45  # seconds that eight GPUs without persistence mode take at most


def example(name): return open(f"{TOP}/examples/{name}").read()


def healthcheck():
    """The words of the image's HEALTHCHECK, and the seconds after which Docker stops it."""
    text = example("container/Dockerfile")
    return json.loads(re.search(r"(?s)HEALTHCHECK.*?CMD (\[.*?\])", text)[1]), int(re.search(r"--timeout=(\d+)s", text)[1])


def provisioner(instances):
    """The lines of Packer's shell provisioner."""
    lines = json.loads("[" + re.search(r"(?s)inline = \[(.*?),\s*\]", example("packer/cudacompat.pkr.hcl"))[1].replace('join(",", var.instances)', "join") + "]")
    return [line.replace("${join}", instances) for line in lines]


def runcmd():
    """The command of cloud-init's list: folded, as YAML's >- has it."""
    text = example("cloud-init/cudacompat.yaml")
    return " ".join(re.search(r"(?s)- >-\n(.*)", text)[1].split())


class Inside:
    """A directory in which /usr/local/bin/cudacompat and sudo are what they are on the machine that is played."""

    def __init__(self, machine, binary):
        self.dir, self.machine = tempfile.mkdtemp(prefix="uses-"), machine
        # /proc is a directory of the machine's: what is written to /dev/stderr is a file in it.
        machine.root("/var/log/.keep").proc("/self/fd/2").set(NO_COLOR="1")
        self.script("bin/cudacompat", "exec " + shlex.join(machine.command(binary)) + ' "$@"')
        self.script("bin/sudo", '[ "$1" = -E ] && shift\nexec "$@"')
        self.script("bin/install", "exit 0")
    def script(self, name, text, head="#!/bin/sh\n"):
        path = f"{self.dir}/{name}"; os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f: f.write(head + text + "\n")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR); return path
    def run(self, command, timeout=None):
        """The exit code, and what is printed, standard error with it."""
        env = {"PATH": self.dir + "/bin:" + os.environ["PATH"], "HOME": self.dir}
        r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.dir, env=env, timeout=timeout)
        return r.returncode, r.stdout + open(self.machine.dir + "/proc/self/fd/2").read()
    def lines(self, lines, head): return self.run([self.script("script", "\n".join(lines).replace("/usr/local/bin/", self.dir + "/bin/"), head)])
    def done(self): shutil.rmtree(self.dir); self.machine.done()


def played(binary, machine, how):
    inside = Inside(machine, binary)
    try: return how(inside)
    finally: inside.done()


def shown(title, command, code, printed):
    body = "\n".join(line.rstrip() for line in printed.rstrip().splitlines())
    return f"# {title}\n$ {command}\n{body}\nexit {code}\n"


def expect(what, got, want, printed):
    if got != want: sys.exit(f"{what}: exit {got}, not {want}\n{printed}")


# Docker's health check.
def play_healthcheck(binary):
    from kit import Machine
    words, limit = healthcheck(); blocks = []
    given = lambda **k: Machine(**k).container().set(NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DRIVER_CAPABILITIES="compute,utility")
    for title, machine, want in (("the GPU works", lambda: given(), 0),
            ("the GPU is gone, and the host's PCI bus still lists it", lambda: given(COUNT=0), 1),
            ("the container lost access to its devices", lambda: given().without_nodes("nvidiactl", "nvidia-uvm", "nvidia0"), 1),
            (f"eight GPUs without persistence mode, which answer after {SLOW} s", lambda: given(count=8, instance="g6.48xlarge", SLOW=SLOW), 0)):
        start = time.monotonic()
        code, printed = played(binary, machine(), lambda inside: inside.run(words, timeout=limit))
        if "answer after" in title and time.monotonic() - start < SLOW: sys.exit("the cold host did not take its time")
        expect(title, code, want, printed); blocks.append(shown(title, " ".join(words), code, printed))
    return blocks


# Packer's build step, on a builder whose driver runs.
def new_kernel(m):
    """The kernel that the build installed is the default, and has no module."""
    new = "6.8.0-1024-aws"; m.root(f"/boot/vmlinuz-{new}", "x").root(f"/lib/modules/{new}/modules.dep", "kernel/a.ko:\n")
    return m.root("/boot/grub/grub.cfg", f"set default=\"0\"\nmenuentry 'Ubuntu' {{\n\tlinux /boot/vmlinuz-{new} ro\n}}\n")


def play_packer(binary):
    from kit import Machine
    lines = provisioner("g6.xlarge"); blocks = []
    for title, machine, want in (("the driver that the build installed is the one that will boot", lambda: Machine(), 0),
            ("the builder's driver runs, and the kernel that will boot has none: Packer stops the build", lambda: new_kernel(Machine()), 1)):
        code, printed = played(binary, machine(), lambda inside: inside.lines(lines, "#!/bin/sh -e\n"))
        expect(title, code, want, printed); blocks.append(shown(title, lines[-1], code, printed))
    return blocks


# cloud-init's command, after provisioning.
def hide_module(m):
    """The driver is on disk and not loaded; the function that is returned loads it."""
    keep = m.dir + "/later"; bound = f"{m.dir}/sys/bus/pci/devices/{m.slot(0)}/driver"; os.makedirs(keep)
    shutil.move(m.dir + "/proc/driver", keep + "/proc"); shutil.move(m.dir + "/sys/module", keep + "/sys"); os.unlink(bound); devices = open(m.dir + "/proc/devices").read(); m.proc("/devices", "Character devices:\n  1 mem\n\nBlock devices:\n  7 loop\n")
    def load():
        shutil.move(keep + "/sys", m.dir + "/sys/module"); m.bound(0, "nvidia"); m.proc("/devices", devices); shutil.move(keep + "/proc", m.dir + "/proc/driver")
    return load


def play_cloud_init(binary):
    from kit import Machine
    command = runcmd(); blocks = []
    def first_boot(title, machine, later, want):
        def how(inside):
            timer = threading.Timer(3, later) if later else None
            if timer: timer.start()
            # A command after it, as in a longer list: the code must not get lost behind it.
            return inside.lines([command, "echo 'the next command of the list'"], "#!/bin/sh\n")
        code, printed = played(binary, machine, how)
        expect(title, code, want, printed); blocks.append(shown(title, command, code, printed))
    m = Machine(LATE=1); m.command(binary)
    first_boot("the module is loaded 3 s later: it waits, and the list goes on", m, hide_module(m), 0)
    m = Machine(driver="580.95.05", INIT=18); m.module("580.65.06")
    first_boot("the driver was updated under the loaded module: no waiting, and the list ends", m, None, 1)
    return blocks


def page(binary):
    """The page with what the three print."""
    text = open(PAGE).read(); before, _, rest = text.partition(BEGIN); _, _, after = rest.partition(END)
    if not rest or not after and not text.endswith(END): sys.exit("docs/uses.md has no place for it")
    section = ""
    for title, play in ("In a container: `examples/container/Dockerfile`", play_healthcheck), ("In an image's build: `examples/packer/cudacompat.pkr.hcl`, for g6.xlarge", play_packer), \
            ("After provisioning: `examples/cloud-init/cudacompat.yaml`", play_cloud_init):
        section += f"\n{title}\n\n```text\n" + "\n".join(play(binary)) + "```\n"
    return before + BEGIN + section + "\n" + END + after


def main():
    import kit
    binary, check = os.path.abspath(sys.argv[1]), "--check" in sys.argv
    try: now = page(binary)
    finally: kit.forget()
    if check and now != open(PAGE).read(): sys.exit("docs/uses.md does not show what the three uses print: run make uses")
    if not check: kit.put(PAGE, now)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
