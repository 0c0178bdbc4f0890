"""The sound machines that the cases of matrix are patches over, and the parts in which they are recorded again: another GPU,
another driver, another wheel."""
import os, shutil

from kit import GPUS, Machine, put
from situations import jetson, no_driver, rest, without_gpu, wsl

TORCH = "2.9.0+cu126"


def compiler(m):
    """A C compiler, without which Triton compiles nothing."""
    m.root("/usr/bin/x86_64-linux-gnu-gcc-13"); os.chmod(m.dir + "/root/usr/bin/x86_64-linux-gnu-gcc-13", 0o755)
    m.link(m.dir + "/root/usr/bin/gcc", "x86_64-linux-gnu-gcc-13"); return m


def usual(wheels=None, **kind):
    """A machine that nobody rents out, with a C compiler, pip, an environment that is active and a kernel log in which nothing
    is wrong."""
    m = Machine(**{"instance": "", "torch": TORCH, **kind}).set(VIRTUAL_ENV="/opt/venv")
    if kind.get("torch") == "": m.installed(wheels) if wheels else m.environment()
    if m.site and not wheels: put(m.site + "/pip/__init__.py")
    compiler(m).kmsg("6,1,0,-;Linux version 6.8.0-1021-aws")
    m.sys("/devices/virtual/dmi/id/sys_vendor", "Supermicro\n"); return m


def container(**kind): return usual(**kind).container().set(NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DRIVER_CAPABILITIES="compute,utility")
def as_bought(m):
    """What is usual of a machine that the situations made."""
    if m.instance: m.sys("/devices/virtual/dmi/id/sys_vendor", "Supermicro\n").sys("/devices/virtual/dmi/id/product_name", "\n")
    if m.site: put(m.site + "/pip/__init__.py")
    return compiler(m).set(VIRTUAL_ENV="/opt/venv")
def cpu_container(**kind):
    """A CUDA image's container that was given no GPU."""
    return usual(**kind).container(False).set(NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DRIVER_CAPABILITIES="compute,utility")
def pod(**kind): return container(**kind).gone("/.dockerenv").set(KUBERNETES_SERVICE_HOST="10.0.0.1")
def cdi(**kind): return usual(**kind).container().set(NVIDIA_VISIBLE_DEVICES="void")
def image(**kind):
    """A container's image: no driver, no device."""
    m = rest(usual(**kind)).container(False); shutil.rmtree(m.dir + "/proc/1"); return m


DRIVERS = "470.239.06 470.256.02 535.183.01 550.90.07 550.163.01 570.124.06 570.133.20 570.211.01 580.126.09 580.178.04".split()
RARE_DRIVERS = """525.60.11 525.60.13 525.105.17 525.147.05 530.30.02 535.54.03 535.86.10 535.104.05 535.247.01 535.261.03 545.23.08 545.29.06 550.54.14
                  550.54.15 550.107.02 550.127.05 550.144.06 555.42.06 570.86.10 570.86.16 570.124.04 570.172.08 570.195.03 575.57.08 580.142 590.48.01
                  595.45.04 595.91.07 615.71.09""".split()
RELEASES = """2.4.0+cu121 2.5.1+cu124 2.6.0+cu124 2.6.0+cu126 2.7.0+cu128 2.7.1+cu126 2.7.1+cu128 2.8.0+cu126 2.8.0+cu128 2.9.0+cu128 2.9.0+cu130
              2.9.1+cu126 2.9.1+cu128 2.9.1+cu130 2.10.0+cu126 2.10.0+cu128 2.10.0+cu130 2.12.0+cu126 2.13.0+cu130 2.14.0+cu130 2.14.1+cu130""".split()
# In "bare" no environment is there; in "python" it holds nothing.
WHEELS = {"bare": {"torch": None}, "python": {"torch": ""}, **{"torch-" + r: {"torch": r} for r in RELEASES},
          "tensorflow-2.20.0": {"torch": "", "wheels": "tensorflow[and-cuda]==2.20.0"}, "jax-0.7.2": {"torch": "", "wheels": "jax[cuda12]==0.7.2"}}
CARDS = {**{name: {"gpu": name} for name in GPUS if name != "L4"}, "2xL4": {"count": 2}, "4xL4": {"count": 4}, "2xT4": {"gpu": "T4", "count": 2},
         "8xH100": {"gpu": "H100", "count": 8}, "4xA100-PCIe": {"gpu": "A100-PCIe", "count": 4}, "8xB200": {"gpu": "B200", "count": 8}}
USUAL_DRIVERS = {d: {"driver": d} for d in DRIVERS}
PARTS = {**WHEELS, **USUAL_DRIVERS, **{d: {"driver": d} for d in RARE_DRIVERS}, **CARDS}
FEW = {p: PARTS[p] for p in ("bare", "python", "torch-2.6.0+cu124", "H100", "2xL4", "8xH100")}

# Each machine, how it is looked at, and the parts in which it is recorded.
MACHINES = {"host": (usual, (), PARTS), "container": (container, (), {**FEW, **USUAL_DRIVERS}), "pod": (pod, (), {**FEW, **USUAL_DRIVERS}), "cdi": (cdi, (), FEW),
            "ami": (lambda **kind: rest(usual(**kind)), ("--offline",), {**FEW, **USUAL_DRIVERS}), "image": (image, ("--offline",), {"bare": PARTS["bare"]}),
            "cpu-container": (cpu_container, (), FEW), "driverless": (lambda **kind: as_bought(no_driver(**kind)), (), FEW), "cpu": (lambda **kind: as_bought(without_gpu(**kind)), (), {"bare": PARTS["bare"]}),
            "wsl": (lambda **kind: as_bought(wsl(**{"torch": TORCH, **kind})), (), {}), "jetson": (lambda **kind: as_bought(jetson(**{"torch": TORCH, **kind})), (), {})}
