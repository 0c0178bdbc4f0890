package host_test

import (
	"path/filepath"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

// v2 is the head of /proc/cpuinfo of a processor of the level x86-64-v2.
const v2 = "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2 hypervisor\n" +
	"vmx flags\t: vnmi\n\nprocessor\t: 1\nflags\t\t: fpu\n"

// TestHwcaps checks that the loader of a running machine prefers libraries for its processor, and that for a tree at
// rest, which may run on any processor, the plain ones count.
func TestHwcaps(t *testing.T) {
	const dir = "/usr/lib/x86_64-linux-gnu/"
	for _, tt := range []struct{ name, cpuinfo, want string }{
		{"running", v2, dir + "glibc-hwcaps/x86-64-v2/libx.so"},
		{"older-processor", "processor\t: 0\nflags\t\t: fpu cx16 lahf_lm popcnt\n", dir + "libx.so"},
		{"at-rest", "", dir + "libx.so"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			hosttest.Write(t, filepath.Join(root, "proc/cpuinfo"), tt.cpuinfo)
			for _, in := range []string{"", "glibc-hwcaps/x86-64-v2/", "glibc-hwcaps/x86-64-v3/"} {
				hosttest.Write(t, filepath.Join(root, dir, in, "libx.so"), string(hosttest.EmptyLibrary(t)))
			}
			loader := (&host.Host{Root: root}).Loader()
			loader.SystemDirs = []string{filepath.Clean(dir)}
			process, err := loader.Host()
			hosttest.Must(t, err)
			found, err := process.Find("libx.so", nil)
			if err != nil || found.Path != tt.want {
				t.Errorf("%s, %v; want %s", found.Path, err, tt.want)
			}
		})
	}
}

// TestCPUFlags checks that only the flags of the first processor are read.
func TestCPUFlags(t *testing.T) {
	root := t.TempDir()
	hosttest.Write(t, filepath.Join(root, "proc/cpuinfo"), v2)
	flags := (&host.Host{Root: root}).CPUFlags()
	if len(flags) != 9 || flags[0] != "fpu" || flags[8] != "hypervisor" {
		t.Errorf("%q", flags)
	}
}
