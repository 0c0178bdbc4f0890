"""The situations, written from what the rules promise, and what must be said of each."""
import os, shutil
from dataclasses import dataclass
from typing import Callable

from kit import KERNEL, LIB, Machine, distribution, put, shared_object


@dataclass
class Situation:
    make: Callable           # the machine
    outcomes: set            # that are right
    args: tuple = ()
    rule: tuple = ()         # id and severity that must stand among the findings
    word: str = ""           # a step must say it
    never: str = ""          # nothing may say it
    sound: bool = False      # no error and no warning: a healthy machine


C, I, X = {"compatible"}, {"inconclusive"}, {"incompatible"}
XI, CI = X | I, C | I


def sound(make, *args, outcomes=C, **more): return Situation(make, outcomes, args, sound=True, **more)
def broken(make, rule, *args, severity="error", **more): return Situation(make, X, args, (rule, severity) if rule else (), **more)


# Containers, and places that are like them.
def in_container(given=True, **env): return Machine().container(given).set(**env)
def build_step():
    """RUN under buildkitd on a GPU host: no mark of a container but the root's own file system, no GPU given."""
    m = in_container(False).gone("/.dockerenv").proc("/1/comm", "sh\n"); os.makedirs(m.dir + "/root/boot", exist_ok=True)
    return m.mounts("600 500 0:60 / / rw - overlay overlay rw,lowerdir=/var/lib/buildkit/runc-overlayfs/snapshots/1/fs", "602 600 0:62 / /dev rw - tmpfs tmpfs rw")
def with_modules(m):
    """A pod that mounts the host's /lib/modules."""
    m.gone("/.dockerenv"); kernel = m.kernel; m.root(f"/lib/modules/{kernel}/modules.dep", "updates/dkms/nvidia.ko:\n")
    return m.more_mounts("640 600 259:1 /lib/modules /lib/modules ro - ext4 /dev/root rw").set(KUBERNETES_SERVICE_HOST="10.0.0.1")
def elsewhere(**env):
    """GKE: the driver's libraries stand in a directory that only LD_LIBRARY_PATH leads to."""
    m = in_container(True, **env).without("libcuda", "libnvidia"); return m.userland("580.95.05", "/usr/local/nvidia/lib64").mounts(
        "600 500 0:60 / / rw - overlay overlay rw,lowerdir=/var/lib/containerd/x", "602 600 0:62 / /dev rw - tmpfs tmpfs rw", "604 600 259:1 /home/kubernetes/bin/nvidia /usr/local/nvidia ro - ext4 /dev/root rw")
def enroot(given=True):
    """Enroot under Slurm: the host's processes and /dev, a root of its own on the host's disk."""
    m = in_container(given).gone("/.dockerenv"); m.isolated = False; m.first_namespace().proc("/1/comm", "systemd\n").set(SLURM_JOB_ID="7", NVIDIA_VISIBLE_DEVICES="all")
    m.mounts("700 600 259:1 /var/lib/enroot/pyxis_7.0 / rw - ext4 /dev/root rw", "702 700 0:5 / /dev rw - devtmpfs devtmpfs rw")
    return m.injected(m.lib) if given else m
def on_host_devices(**env):
    """A privileged pod, or Apptainer without --nv: the host's /dev, nothing of the driver's user space."""
    m = Machine(); nodes = m.nodes; m.container(False).set(**env); m.nodes = nodes; m.status()
    return m.mounts("600 500 0:60 / / rw - overlay overlay rw,lowerdir=/somewhere", "602 600 0:5 / /dev rw - devtmpfs devtmpfs rw")
def one_of_eight():
    """One GPU of an instance with eight: the others are on the bus, and not given."""
    m = Machine(gpu="H100", instance="p5.48xlarge", count=1); host = Machine(gpu="H100", count=8)
    shutil.rmtree(m.dir + "/sys/bus"); shutil.copytree(host.dir + "/sys/bus", m.dir + "/sys/bus", symlinks=True); host.done(); return m.container().set(NVIDIA_VISIBLE_DEVICES="GPU-1")
def compute_alone():
    m = in_container(True, NVIDIA_VISIBLE_DEVICES="0", NVIDIA_DRIVER_CAPABILITIES="compute").without("libnvidia-ml").as_user()
    return m.mounts(*(line for line in open(m.dir + "/proc/self/mountinfo").read().splitlines() if "libnvidia-ml" not in line))
def baked_in():
    """The image's own package holds 580; the host's 535 is mounted beside it."""
    m = Machine(INIT=18).container(); m.userland("535.183.01"); m.module("535.183.01")
    for n in "libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler": m.link(f"{m.dir}/root{LIB}/{n}.so.1", f"{n}.so.580.95.05")
    return m.root("/var/lib/dpkg/status", "Package: libnvidia-compute-580\nStatus: install ok installed\nVersion: 580.95.05-0ubuntu1\nArchitecture: amd64\n\n")


# Hosts.
def updated(os_):
    m = Machine(os_, INIT=18); m.module("580.65.06"); return m
def libcuda_gone(): return Machine().without("libcuda")
def libcuda_empty():
    m = libcuda_gone().root(LIB + "/libcuda.so.580.95.05"); m.link(m.dir + "/root" + LIB + "/libcuda.so.1", "libcuda.so.580.95.05"); return m
def libcuda_32_bit():
    m = libcuda_gone(); head = b"\x7fELF\x01\x01\x01" + bytes(9) + b"\x03\x00\x03\x00\x01\x00\x00\x00" + bytes(28)
    for directory in "/usr/lib/i386-linux-gnu", LIB:
        os.makedirs(m.dir + "/root" + directory, exist_ok=True)
        with open(m.dir + "/root" + directory + "/libcuda.so.1", "wb") as f: f.write(head)
    return m
def stub():
    m = Machine().set(LD_LIBRARY_PATH="/usr/local/cuda/lib64/stubs"); shared_object(m.dir + "/root/usr/local/cuda/lib64/stubs/libcuda.so.1", "int cuInit(unsigned f) { return 34; }", "libcuda.so.1"); return m
def dkms_failed():
    m = Machine().unloaded().gone(f"/lib/modules/{KERNEL['ubuntu']}/updates"); m.root(f"/lib/modules/{m.kernel}/modules.dep", "kernel/a.ko:\n")
    return m.root("/var/lib/dkms/nvidia/580.95.05/build/make.log", f"DKMS make.log for nvidia-580.95.05 for kernel {m.kernel} (x86_64)\nnv.c:10:10: fatal error: linux/version.h: No such file or directory\n")
def rest(m):
    """Files alone are read: what an AMI's builder has, a machine without a GPU."""
    m.unloaded(); shutil.rmtree(m.dir + "/sys/bus/pci/devices"); return m
def no_driver():
    m = Machine().unloaded().without("libcuda", "libnvidia").gone("/lib/firmware", "/usr/bin/nvidia-modprobe")
    m.gone(f"/lib/modules/{m.kernel}/updates").root(f"/lib/modules/{m.kernel}/modules.dep", "kernel/a.ko:\n"); return m
def nouveau():
    m = no_driver(); m.bound(0, "nouveau"); m.sys("/module/nouveau/refcnt", "1\n"); return m
def without_gpu():
    """A login node: no NVIDIA device, no driver."""
    m = no_driver(); shutil.rmtree(m.dir + "/sys/bus/pci/devices"); m.sys("/devices/virtual/dmi/id/product_name", "c7i.large\n"); m.sys("/bus/pci/devices/.keep"); return m
def nixos():
    m = Machine("nixos", instance="").first_namespace().gone("/lib/modules", "/boot", "/lib/firmware", "/usr/bin/nvidia-modprobe").without("libcuda", "libnvidia").userland("580.95.05", "/run/opengl-driver/lib")
    m.root("/run/current-system/firmware/nvidia/580.95.05/gsp_ga10x.bin", "x"); m.sys("/devices/virtual/dmi/id/sys_vendor", "ASUS\n"); return m.set(LD_LIBRARY_PATH="/run/opengl-driver/lib")
def empty_boot():
    m = Machine().gone("/boot"); os.makedirs(m.dir + "/root/boot"); return m
def slim():
    """An image whose wheels lost tests, headers and archives."""
    m = in_container(); record = m.site + "/torch-2.9.0+cu130.dist-info/RECORD"; text = open(record).read(); os.unlink(record)
    put(record, text + "torch/include/ATen/ATen.h,,7\ntorch/lib/libdnnl.a,,7\ntorch/testing/_internal/common_utils.py,,7\ntorch/test/test_a.py,,7\n"); return m
def other_nccl():
    m = in_container().set(LD_LIBRARY_PATH="/opt/nccl/lib"); shared_object(m.dir + "/root/opt/nccl/lib/libnccl.so.2", "const char version[] = \"NCCL version 2.28.3+cuda13.0\";", "libnccl.so.2"); return m
def monitors():
    m = Machine(torch=None).environment(); site = m.dir + "/root/opt/venv/lib/python3.12/site-packages"
    put(site + "/pynvml.py"); distribution(site, "nvidia-ml-py", "13.580.82", ["pynvml.py"], tag="py3-none-any"); return m
def wsl():
    m = Machine(gpu="RTX4090", instance="", WSL=1).unloaded().without("libcuda", "libnvidia").gone("/lib/modules", "/boot", "/lib/firmware", "/usr/bin/nvidia-modprobe").userland("580.95.05", "/usr/lib/wsl/drivers/nv")
    release = "6.6.87.2-microsoft-standard-WSL2"; m.proc("/sys/kernel/osrelease", release + "\n"); shutil.rmtree(m.dir + "/sys/bus"); m.nodes = {"dxg": "/dev/null"}
    for n in "libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler":
        os.makedirs(m.dir + "/root/usr/lib/wsl/lib", exist_ok=True); shutil.copy(f"{m.dir}/root/usr/lib/wsl/drivers/nv/{n}.so.580.95.05", f"{m.dir}/root/usr/lib/wsl/lib/{n}.so.1")
    m.root("/etc/ld.so.conf", "/usr/lib/wsl/lib\n" + LIB + "\n"); m.sys("/devices/virtual/dmi/id/sys_vendor", "Microsoft Corporation\n")
    return m.mounts("40 30 8:32 / / rw - ext4 /dev/sdc rw", "41 40 0:60 / /usr/lib/wsl/lib rw - overlay none rw", "42 40 0:6 / /dev rw - devtmpfs none rw")
def jetson():
    m = Machine(instance="").unloaded().without("libcuda", "libnvidia"); shutil.rmtree(m.dir + "/sys/bus"); shutil.rmtree(m.dir + "/sys/devices"); m.gone("/boot", "/lib/firmware")
    m.proc("/sys/kernel/osrelease", "5.15.148-tegra\n"); m.gone("/lib/modules").root("/lib/modules/5.15.148-tegra/modules.dep", "updates/nvgpu.ko:\n").root("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64\n")
    shared_object(m.dir + "/root" + LIB + "/nvidia/libcuda.so.1.1", "int cuInit(unsigned f) { return 0; }", "libcuda.so.1"); m.link(m.dir + "/root" + LIB + "/nvidia/libcuda.so.1", "libcuda.so.1.1"); m.root("/etc/ld.so.conf", f"{LIB}/nvidia\n{LIB}\n")
    m.nodes = {"nvgpu": "/dev/null", "nvhost-ctrl": "/dev/null", "nvmap": "/dev/null"}; return m

# MIG.
def mig(instances=1, given=True):
    """A GPU that is cut; given: the nodes of its one instance are there."""
    m = Machine(gpu="H100", MIG=1, INSTANCES=instances)
    if instances:
        base = "/driver/nvidia/capabilities/gpu0/mig/gi1"; m.proc(base + "/access", "DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n"); m.proc(base + "/ci0/access", "DeviceFileMinor: 13\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
        if given: m.nodes.update({"nvidia-caps/nvidia-cap12": "/dev/null", "nvidia-caps/nvidia-cap13": "/dev/null"})
    return m

def hollow(m): shutil.rmtree(m.site + "/torch/lib"); return m
def excluded(count):
    m = Machine(count=2, COUNT=count, instance="") if count else Machine(COUNT=0, instance=""); m.sys("/devices/virtual/dmi/id/sys_vendor", "Supermicro\n"); return m.information(1 if count else 0, "Yes")
def asleep(m):
    """nvidia-uvm is on disk, and nothing has used it since boot."""
    m.proc("/devices", "Character devices:\n  1 mem\n  1 nvidia\n"); shutil.rmtree(m.dir + "/sys/module/nvidia_uvm"); return m.without_nodes("nvidia-uvm")


XID = "4,1084,52712345,-;NVRM: Xid (PCI:0000:00:1e): "
XID95 = XID + "95, pid=1234, name=python, Uncontained ECC error"
RESET = "\n" + XID + "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)\n" + XID + "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"

SITUATIONS = {
    # Healthy: nothing is said, and what was given a GPU is compatible.
    "sound host": sound(lambda: Machine()),
    "sound host, 8 GPUs": sound(lambda: Machine(count=8, instance="g6.48xlarge"), "--require", "driver,gpu,build"),
    "sound host of AL2023": sound(lambda: Machine("al2023")),
    "sound host, an empty /boot": sound(empty_boot),
    "sound host, process 1 alone shows it": sound(lambda: Machine().first_namespace().gone("/lib/modules", "/boot")),
    "sound AMI at rest": sound(lambda: rest(Machine()), "--offline", "--instance", "g6.xlarge"),
    "sound container": sound(lambda: in_container(NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DRIVER_CAPABILITIES="compute,utility")),
    "sound container by CDI (void)": sound(lambda: in_container(NVIDIA_VISIBLE_DEVICES="void"), "--require", "gpu"),
    "a pod that mounts /lib/modules": sound(lambda: with_modules(in_container(NVIDIA_VISIBLE_DEVICES="all"))),
    "GKE, its LD_LIBRARY_PATH": sound(lambda: elsewhere(LD_LIBRARY_PATH="/usr/local/nvidia/lib64")),
    "Enroot under Slurm": sound(enroot),
    "one GPU of a p5.48xlarge": sound(one_of_eight),
    "compute capability alone, no NVML, uid 1000": sound(compute_alone),
    "a slim image": sound(slim),
    "another NCCL on purpose": sound(other_nccl),
    "driver 535 with cu126": sound(lambda: Machine(driver="535.183.01", torch="2.9.0+cu126")),
    "driver 470 with cu118": sound(lambda: Machine(gpu="V100", driver="470.256.02", torch="2.7.1+cu118")),
    "WSL2": sound(wsl),
    "a Jetson": sound(jetson, outcomes=CI),
    "NixOS": sound(nixos),
    "monitors and no framework": sound(monitors),
    "MIG with an instance and its nodes": sound(mig),
    "one GPU of two left out on purpose": Situation(lambda: excluded(1), C),
    "nvidia-uvm not used yet, a user with nvidia-modprobe": sound(lambda: asleep(Machine()).as_user()),
    "nvidia-uvm not used yet, root without nvidia-modprobe": sound(lambda: asleep(Machine()).gone("/usr/bin/nvidia-modprobe")),
    "nodes by udev, a user without nvidia-modprobe": sound(lambda: Machine().gone("/usr/bin/nvidia-modprobe").as_user()),
    "Xid 31 alone": sound(lambda: Machine().kmsg(XID + "31, pid=1234, name=python, MMU Fault")),
    "Xid 95, then reset": sound(lambda: Machine().kmsg(XID95 + RESET)),
    # Healthy, and nothing to compute on was given: the reason is said.
    "CPU sidecar of a CUDA image, or --gpus forgotten": sound(lambda: in_container(False, NVIDIA_VISIBLE_DEVICES="all"), outcomes=I),
    "--gpus forgotten, plain image": sound(lambda: in_container(False), outcomes=I),
    "RUN in a build on a GPU host": sound(build_step, outcomes=I),
    "a CPU pod that mounts /lib/modules": sound(lambda: with_modules(in_container(False)), outcomes=I),
    "a privileged pod on a CPU job": sound(on_host_devices, outcomes=I),
    "Slurm login node without a GPU": sound(without_gpu, outcomes=I),
    "NVML missing on a host": sound(lambda: Machine().without("libnvidia-ml")),
    # A warning beside works.
    "address space below the GPU's memory": Situation(lambda: Machine().limits("4294967296"), C, (), ("process-limits", "warning")),
    # The driver's user half.
    "GKE, LD_LIBRARY_PATH lost": broken(lambda: elsewhere(), "container-driver-libs", word="LD_LIBRARY_PATH"),
    "--gpus forgotten, --require gpu": broken(lambda: in_container(False), "", "--require", "gpu"),
    "a privileged pod, --require gpu": broken(on_host_devices, "", "--require", "gpu"),
    "asked for a GPU by its UUID, none given": broken(lambda: in_container(False, NVIDIA_VISIBLE_DEVICES="GPU-11111111-2222-3333-4444-555555555555"), "container-driver-libs"),
    "libcuda.so.1 missing on a host": broken(libcuda_gone, "driver-missing"),
    "libcuda.so.1 missing in an AMI": broken(lambda: rest(libcuda_gone()), "driver-missing", "--offline", "--instance", "g6.xlarge"),
    "libcuda.so.1 is empty": broken(libcuda_empty, "driver-missing"),
    "libcuda.so.1 of 32 bits alone": broken(libcuda_32_bit, "driver-missing"),
    "a stub on LD_LIBRARY_PATH": broken(stub, "stub-library"),
    "updated under the module, Ubuntu": broken(lambda: updated("ubuntu"), "driver-mismatch", word="reboot", never="gsp-firmware"),
    "updated under the module, AL2023": broken(lambda: updated("al2023"), "driver-mismatch", word="reboot", never="gsp-firmware"),
    "driver baked into the image": broken(baked_in, "driver-mismatch", word="libnvidia-compute-580", never="restart the container"),
    # The module.
    "no driver at all": broken(no_driver, "driver-missing"),
    "bound to nouveau": broken(nouveau, "nouveau-loaded"),
    "module not built for this kernel": broken(dkms_failed, "module-missing-for-kernel", word="make.log"),
    "module not built, an AMI at rest": broken(lambda: rest(dkms_failed()), "module-missing-for-kernel", "--offline", "--instance", "g6.xlarge"),
    # Nodes.
    "nvidia-uvm's node has another major": broken(lambda: Machine().node_of("nvidia-uvm", 5, 0), "device-nodes-missing"),
    "nvidia-uvm missing, no new privileges": broken(lambda: asleep(Machine()).as_user(no_new_privileges=1), "device-nodes-missing"),
    "nvidia-uvm missing in a container": broken(lambda: in_container(NVIDIA_VISIBLE_DEVICES="all").without_nodes("nvidia-uvm"), "device-nodes-missing"),
    "nvidiactl may not be opened (EPERM)": broken(lambda: lost_access(in_container(NVIDIA_VISIBLE_DEVICES="all")), "device-access-lost"),
    "nvidiactl is root's alone (EACCES)": broken(lambda: Machine().node_of("nvidiactl", 1, 3, 0o600).as_user(), "device-permission"),
    # The GPU.
    "the only GPU left out on purpose": Situation(lambda: excluded(0), XI),
    "NVML answers 999": Situation(lambda: Machine(INIT=999), XI),
    "one GPU of eight lost": broken(lambda: Machine(count=8, instance="g6.48xlarge", HANDLE=15, LOST=3), "gpu-health"),
    "the only GPU in MIG mode, no instance": broken(lambda: mig(0), "mig-devices"),
    "a MIG instance without its nodes, in a container": broken(lambda: mig(1, False).container().set(NVIDIA_VISIBLE_DEVICES="MIG-1"), "mig-devices"),
    "compute mode PROHIBITED": broken(lambda: Machine(MODE=2), "compute-mode"),
    "NVML asks for a reset": broken(lambda: Machine(RECOVERY=1), "gpu-health"),
    "confidential computing, not ready": broken(lambda: Machine(gpu="H100", CONFIDENTIAL=1), "gpu-not-ready"),
    "fallen off the bus, on EC2": broken(lambda: Machine(HANDLE=15).kmsg(XID + "79, pid=1234, name=python, GPU has fallen off the bus."), "", word="stop"),
    "Xid 95": broken(lambda: Machine(RECOVERY=1).kmsg(XID95), "gpu-health"),
    # The build.
    "torch too new for the driver": broken(lambda: Machine(driver="535.183.01"), "driver-too-old", word="cu126"),
    "torch has no code for the GPU": broken(lambda: Machine(gpu="V100"), "gpu-arch-missing"),
    "torch/lib is empty": broken(lambda: hollow(Machine()), "", word="torch"),
}


def lost_access(m):
    """/dev/kmsg, where the kernel keeps its log from everybody, lets in by access(2) and refuses open(2), as a control group does after systemctl daemon-reload."""
    m.extra += ["--cap-drop", "CAP_SYSLOG", "--cap-drop", "CAP_SYS_ADMIN"]; return m.node_of("nvidiactl", 1, 11)
