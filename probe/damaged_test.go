package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// damage is one file of testdata/sound.txtar in a state that it should not be in.
type damage struct {
	name   string
	remove string // every file whose name begins so
	add    string // what stands there instead, as entries of an archive
	source string // what must say so
	want   string // in these words
}

const (
	siteA = "opt/a/lib/python3.12/site-packages/"
	siteB = "opt/b/lib/python3.12/site-packages/"
)

var damages = []damage{
	{"os-release-fifo", "etc/os-release", "-- etc/os-release = fifo --", "system",
		"open /etc/os-release: not a regular file"},
	{"os-release-huge", "etc/os-release", "-- etc/os-release = sparse 40000000 --", "system",
		"read /etc/os-release: larger than 8 MiB"},
	{"os-release-loop", "etc/os-release", "-- etc/os-release -> os-release --", "system",
		"resolve /etc/os-release: too many levels of symbolic links"},
	{"libc-garbage", "lib/x86_64-linux-gnu/", "-- lib/x86_64-linux-gnu/libc.so.6 --\ncut off", "system",
		"/lib/x86_64-linux-gnu/libc.so.6: no glibc banner in it"},
	{"dmi-directory", "sys/devices/virtual/dmi/id/product_name", "-- sys/devices/virtual/dmi/id/product_name/ --",
		"instance",
		"open /sys/devices/virtual/dmi/id/product_name: not a regular file"},
	{"proc-driver-directory", "proc/driver/nvidia/version", "-- proc/driver/nvidia/version/ --", "proc-driver",
		"open /proc/driver/nvidia/version: not a regular file"},
	{"proc-driver-garbage", "proc/driver/nvidia/version", "-- proc/driver/nvidia/version --\nNVRM version: soon\n",
		"proc-driver",
		`/proc/driver/nvidia/version: no line "NVRM version: … <version>"`},
	{"libcuda-loop", "usr/lib/x86_64-linux-gnu/libcuda.so.1",
		"-- usr/lib/x86_64-linux-gnu/libcuda.so.1 -> libcuda.so.1 --", "driver-libraries",
		"resolve /usr/lib/x86_64-linux-gnu/libcuda.so.1: too many levels of symbolic links"},
	{"ld-conf-directory", "etc/ld.so.conf.d/", "-- etc/ld.so.conf.d/cuda.conf/ --", "driver-libraries",
		"open /etc/ld.so.conf.d/cuda.conf: not a regular file"},
	{"module-garbage", "lib/modules/6.8.0-1021-aws/",
		"-- lib/modules/6.8.0-1021-aws/updates/dkms/nvidia.ko.xz --\nthis was never packed by xz\n", "driver-modules",
		"/lib/modules/6.8.0-1021-aws/updates/dkms/nvidia.ko.xz: not a whole .xz file; is the file damaged?"},
	{"modules-two", "lib/modules/", "-- lib/modules/1/extra/nvidia.ko = fifo --\n-- lib/modules/2/extra/nvidia.ko/ --",
		"driver-modules",
		"open /lib/modules/1/extra/nvidia.ko: not a regular file; open /lib/modules/2/extra/nvidia.ko: not a regular " +
			"file"},
	{"pci-directory", "sys/bus/pci/devices/0000:32:00.0/device", "-- sys/bus/pci/devices/0000:32:00.0/device/ --",
		"pci",
		"open /sys/bus/pci/devices/0000:32:00.0/device: not a regular file"},
	{"pci-garbage", "sys/bus/pci/devices/0000:32:00.0/device",
		"-- sys/bus/pci/devices/0000:32:00.0/device --\npassphrase\n", "pci",
		"/sys/bus/pci/devices/0000:32:00.0/device: no number of a device in it; is the file damaged?"},
	{"toolkit-cut", "usr/local/cuda-12.6/", `-- usr/local/cuda-12.6/version.json --
{"cuda":{"name":"CUDA SDK","version":"12.`, "toolkits",
		"/usr/local/cuda-12.6/version.json: no CUDA version in it; is the file damaged?"},
	{"toolkit-loop", "usr/local/cuda-12.6/", "-- usr/local/cuda-12.6 -> cuda-12.6 --", "toolkits",
		"resolve /usr/local/cuda-12.6: too many levels of symbolic links"},
	{"nccl-garbage", "usr/local/lib/libnccl.so.2",
		"-- usr/local/lib/libnccl.so.2 --\nnot a library, not even sixteen\n", "libraries",
		"/usr/local/lib/libnccl.so.2: not an ELF file: bad magic number '[110 111 116 32]' in record at byte 0x0; is " +
			"the file damaged?"},
	{"dpkg-fifo", "var/lib/dpkg/status", "-- var/lib/dpkg/status = fifo --", "driver-packages",
		"open /var/lib/dpkg/status: not a regular file"},
	{"rpmdb-loop", "var/lib/dpkg/", "-- var/lib/rpm/rpmdb.sqlite -> rpmdb.sqlite --", "driver-packages",
		"resolve /var/lib/rpm/rpmdb.sqlite: too many levels of symbolic links"},
	{"rpmdb-garbage", "var/lib/dpkg/",
		"-- var/lib/rpm/Packages --\nnot even a hash table of Berkeley DB, though it is long enough for the head of " +
			"one\n", "driver-packages",
		"/var/lib/rpm/Packages: an RPM database of no known form; is the file damaged?"},
	{"rpmdb-log-fifo", "var/lib/dpkg/",
		"-- var/lib/rpm/rpmdb.sqlite = rpmdb --\nnvidia-driver 3:580.95.05-1\n" +
			"-- var/lib/rpm/rpmdb.sqlite-wal = fifo --", "driver-packages",
		"the newest packages are in a log: open /var/lib/rpm/rpmdb.sqlite-wal: not a regular file"},
	{"rpmdb-journal", "var/lib/dpkg/",
		"-- var/lib/rpm/rpmdb.sqlite = rpmdb --\nnvidia-driver 3:580.95.05-1\n" +
			"-- var/lib/rpm/rpmdb.sqlite-journal --\n\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", "driver-packages",
		"/var/lib/rpm/rpmdb.sqlite: an rpm command broke off in the middle of a change; sudo rpm -qa on that system " +
			"repairs it"},
	{"header-directory", "usr/include/nccl.h", "-- usr/include/nccl.h/ --", "libraries",
		"open /usr/include/nccl.h: not a regular file"},
	{"limits-directory", "proc/self/limits", "-- proc/self/limits/ --", "devices",
		"open /proc/self/limits: not a regular file"},
	{"mountinfo-fifo", "proc/self/mountinfo", "-- proc/self/mountinfo = fifo --", "container",
		"open /proc/self/mountinfo: not a regular file"},
	{"daemon-json-directory", "etc/docker/daemon.json", "-- etc/docker/daemon.json/ --", "container-runtimes",
		"open /etc/docker/daemon.json: not a regular file"},
	{"cdi-loop", "var/run/cdi/nvidia.yaml", "-- var/run/cdi/nvidia.yaml -> nvidia.yaml --", "container-runtimes",
		"resolve /var/run/cdi/nvidia.yaml: too many levels of symbolic links"},
	{"pyvenv-loop", "opt/a/pyvenv.cfg", "-- opt/a/pyvenv.cfg -> pyvenv.cfg --", "python",
		"resolve /opt/a/pyvenv.cfg: too many levels of symbolic links"},
	{"torch-cut", siteA + "torch/version.py", "-- " + siteA + "torch/version.py --\n__version__ = '2.6", "python",
		"/" + siteA + "torch/version.py: no __version__ in it; is the file damaged?"},
	{"torch-directory", siteA + "torch/version.py", "-- " + siteA + "torch/version.py/ --", "python",
		"/" + siteA + "torch/version.py: not a regular file: the installation is editable or damaged"},
	{"metadata-cut", siteA + "torch-2.6.0.dist-info/METADATA",
		"-- " + siteA + "torch-2.6.0.dist-info/METADATA --\nMetadata-Version: 2.1\nName: tor", "python",
		"/" + siteA + "torch-2.6.0.dist-info/METADATA: no Version in it; is the file damaged?"},
	{"metadata-gone", siteA + "torch-2.6.0.dist-info/METADATA", "", "python",
		"/" + siteA + "torch-2.6.0.dist-info: no METADATA in it; is the file damaged?"},
	{"wheel-fifo", siteA + "torch-2.6.0.dist-info/WHEEL", "-- " + siteA + "torch-2.6.0.dist-info/WHEEL = fifo --",
		"python",
		"open /" + siteA + "torch-2.6.0.dist-info/WHEEL: not a regular file"},
	{"build-info-cut", siteB + "tensorflow/",
		"-- " + siteB + "tensorflow/python/platform/build_info.py --\n" +
			"build_info = collections.OrderedDict([('cuda_version', '12.", "python",
		"/" + siteB + "tensorflow/python/platform/build_info.py: no is_cuda_build in it; is the file damaged?"},
	{"jaxlib-cut", siteA + "jaxlib-0.7.2.dist-info/METADATA", "-- " + siteA + "jaxlib-0.7.2.dist-info/METADATA --\n",
		"python",
		"/" + siteA + "jaxlib-0.7.2.dist-info/METADATA: no Version in it; is the file damaged?"},
}

// TestDamage breaks one file at a time. Its source reports one sentence that names the file as the target sees it. All
// other sources, and what this one reads elsewhere, stay the same.
func TestDamage(t *testing.T) {
	sound, err := txtar.ParseFile("testdata/sound.txtar")
	hosttest.Must(t, err)
	before := filesOf(t, sound)
	if i := slices.IndexFunc(before.Probes, func(s facts.Status) bool { return s.Status == "failed" }); i >= 0 {
		t.Fatalf("the sound machine is none: %+v", before.Probes[i])
	}
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			after := filesOf(t, d.do(t, sound))
			for i, s := range after.Probes {
				want := facts.Status{Name: before.Probes[i].Name, Status: before.Probes[i].Status}
				if want.Name == d.source {
					want.Status, want.Error = "failed", d.want
				}
				s.Seconds = 0
				if diff := cmp.Diff(want, s); diff != "" {
					t.Errorf("probe (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(without(before, d.source), without(after, d.source)); diff != "" {
				t.Errorf("what other sources found (-before +after):\n%s", diff)
			}
			if lost := count(before, d.source) - count(after, d.source); lost > 1+strings.Count(d.want,
				";")-strings.Count(d.want, "; is the") {
				t.Errorf("%d things are lost with it", lost)
			}
			hosttest.RoundTrip(t, after)
		})
	}
}

// do returns the archive with the damage done to it.
func (d damage) do(t *testing.T, sound *txtar.Archive) *txtar.Archive {
	t.Helper()
	files := slices.Clone(sound.Files)
	files = slices.DeleteFunc(files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, d.remove) })
	if len(files) == len(sound.Files) {
		t.Fatalf("nothing begins with %q", d.remove)
	}
	return &txtar.Archive{Files: append(files, txtar.Parse([]byte(d.add)).Files...)}
}

// without returns what all sources but one found.
func without(f Facts, source string) Facts {
	f.Probes = nil
	f.Driver.NVML = facts.NVML{}
	switch source {
	case "system":
		f.System = facts.System{Instance: f.System.Instance}
	case "instance":
		f.System.Instance = ""
	case "proc-driver":
		f.Driver.Version, f.Driver.Module, f.Driver.From = "", "", ""
	case "devices":
		f.Devices = facts.Devices{}
	case "container":
		f.Container, f.System.Proof = facts.Container{}, "" // by the mounts too
	case "container-runtimes":
		f.Runtimes = facts.Runtimes{}
	case "driver-libraries":
		f.Driver.Libraries, f.Driver.Compat, f.Driver.Taken, f.Driver.Stub = nil, nil, facts.Taken{}, false
		f.Driver.Libcuda = nil
	case "driver-modules":
		f.Driver.Modules = nil
	case "driver-packages":
		f.Libraries = slices.DeleteFunc(slices.Clone(f.Libraries), func(l facts.Library) bool {
			return strings.HasPrefix(l.Path, "/var/lib/")
		})
	case "pci":
		f.GPUs = nil
	case "toolkits":
		f.Toolkits = nil
	case "libraries":
		f.Libraries = nil
	case "python":
		f.Environments, f.Unread = nil, nil
	}
	return f
}

// count returns how many things one source found.
func count(f Facts, source string) int {
	things := map[string]int{"driver-libraries": len(f.Driver.Libraries), "driver-modules": len(f.Driver.Modules),
		"pci":      len(f.GPUs),
		"toolkits": len(f.Toolkits), "libraries": len(f.Libraries)}
	for _, e := range f.Environments {
		things["python"] += len(e.Builds) + len(e.Packages)
	}
	return things[source]
}

// TestUnreadable makes one file or directory at a time unreadable. As root everything is readable, so a copy of this
// program then runs the test as nobody.
func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		hosttest.AsNobody(t)
		return
	}
	sound, err := txtar.ParseFile("testdata/sound.txtar")
	hosttest.Must(t, err)
	for _, tt := range []struct{ source, name, want string }{
		{"system", "/etc/os-release", "open /etc/os-release: permission denied"},
		{"instance", "/sys/devices/virtual/dmi/id/sys_vendor",
			"open /sys/devices/virtual/dmi/id/sys_vendor: permission denied"},
		{"proc-driver", "/proc/driver/nvidia/version", "open /proc/driver/nvidia/version: permission denied"},
		{"driver-modules", "/lib/modules/6.8.0-1021-aws/updates/dkms/nvidia.ko.xz",
			"open /lib/modules/6.8.0-1021-aws/updates/dkms/nvidia.ko.xz: permission denied"},
		{"pci", "/sys/bus/pci/devices/0000:31:00.0/class",
			"open /sys/bus/pci/devices/0000:31:00.0/class: permission denied"},
		{"toolkits", "/usr/local/cuda-12.6/version.json", "open /usr/local/cuda-12.6/version.json: permission denied"},
		{"libraries", "/usr/local/lib/libnccl.so.2", "open /usr/local/lib/libnccl.so.2: permission denied"},
		{"python", "/" + siteA + "torch-2.6.0.dist-info/METADATA",
			"open /" + siteA + "torch-2.6.0.dist-info/METADATA: permission denied"},
		{"python", "/" + siteA, "list /" + strings.TrimSuffix(siteA, "/") + ": permission denied"},
		{"python", "/opt/conda/conda-meta", "list /opt/conda/conda-meta: permission denied"},
	} {
		t.Run(tt.source, func(t *testing.T) {
			h := hosttest.Host(t, sound)
			hosttest.Must(t, os.Chmod(filepath.Join(h.Root, tt.name), 0))
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(h.Root, tt.name), 0o755) })
			i := slices.IndexFunc(sources, func(s reader) bool { return s.name == tt.source })
			_, status := sources[i].run(h, Options{})
			if status.Status != "failed" || !strings.Contains(status.Error, tt.want) ||
				strings.Contains(status.Error, h.Root) {
				t.Errorf("status is %+v, want %q", status, tt.want)
			}
		})
	}
}

// TestClosedToThisUser checks that a source or directory of torch that this user may not read keeps him from importing
// it.
func TestClosedToThisUser(t *testing.T) {
	if os.Geteuid() == 0 {
		hosttest.AsNobody(t)
		return
	}
	sound, err := txtar.ParseFile("testdata/sound.txtar")
	hosttest.Must(t, err)
	for _, tt := range []struct{ name, closed string }{{"file", "torch/version.py"}, {"directory", "torch"}} {
		t.Run(tt.name, func(t *testing.T) {
			h := hosttest.Host(t, sound)
			file := "/" + siteA + tt.closed
			hosttest.Must(t, os.Chmod(filepath.Join(h.Root, file), 0))
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(h.Root, file), 0o755) })
			i := slices.IndexFunc(sources, func(s reader) bool { return s.name == "python" })
			set, _ := sources[i].run(h, Options{})
			var found Facts
			set(&found)
			at := slices.IndexFunc(found.Environments[0].Builds, func(b facts.Build) bool { return b.Name == "torch" })
			list := found.Environments[0].Builds[at].Hindrances
			if !slices.ContainsFunc(list, func(h facts.Hindrance) bool { return h.Kind == facts.HindranceClosed && h.Path == file }) {
				t.Errorf("hindrances are %+v, want one by %s", list, file)
			}
		})
	}
}

// TestClosedInterpreter checks an environment whose base Python is in a directory that this user may not enter, such as
// one that uv put into root's home.
func TestClosedInterpreter(t *testing.T) {
	if os.Geteuid() == 0 {
		hosttest.AsNobody(t)
		return
	}
	t.Run("closed", func(t *testing.T) {
		root := t.TempDir()
		hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
		hosttest.Write(t, filepath.Join(root, "opt/venv/lib/python3.12/site-packages/torch/version.py"), "__version__ = '2.9.0+cu130'\n")
		hosttest.Write(t, filepath.Join(root, "root/python/bin/python3.12"), "")
		hosttest.Must(t, os.Mkdir(filepath.Join(root, "opt/venv/bin"), 0o755))
		hosttest.Must(t, os.Symlink("/root/python/bin/python3.12", filepath.Join(root, "opt/venv/bin/python")))
		hosttest.Must(t, os.Symlink("python", filepath.Join(root, "opt/venv/bin/python3")))
		for _, mode := range []os.FileMode{0o700, 0} {
			hosttest.Must(t, os.Chmod(filepath.Join(root, "root"), mode))
			i := slices.IndexFunc(sources, func(s reader) bool { return s.name == "python" })
			set, _ := sources[i].run(&Host{Root: root}, Options{Envs: []string{"/opt/venv"}})
			var found Facts
			set(&found)
			var want *facts.Interpreter
			if mode == 0 {
				want = &facts.Interpreter{Path: "/opt/venv/bin/python3", Leads: "/root/python/bin/python3.12", Closed: true}
			}
			if diff := cmp.Diff(want, found.Environments[0].Interpreter); diff != "" {
				t.Errorf("mode %o: (-want +got):\n%s", mode, diff)
			}
		}
		hosttest.Must(t, os.Chmod(filepath.Join(root, "root"), 0o700))
	})
}
