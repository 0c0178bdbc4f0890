package driver

import (
	"errors"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

const makeLog = `DKMS make.log for nvidia-580.95.05 for kernel 6.8.0-1021-aws (x86_64)
Mon Nov 23 10:00:00 UTC 2026
make: Entering directory '/usr/src/linux-headers-6.8.0-1021-aws'
warning: the compiler differs from the one used to build the kernel, -Werror is off
/var/lib/dkms/nvidia/580.95.05/build/nvidia/nv.c:10:10: fatal error: linux/version.h: No such file or directory
make[2]: *** [scripts/Makefile.build:243: nvidia/nv.o] Error 1
`

const fault = "/var/lib/dkms/nvidia/580.95.05/build/nvidia/nv.c:10:10: fatal error: linux/version.h: No such file or directory"

// TestModuleBuild finds the log of a failed build, and none if there is a module after all.
func TestModuleBuild(t *testing.T) {
	const failed = "-- var/lib/dkms/nvidia/580.95.05/build/make.log --\n" + makeLog
	const kept = "-- var/lib/dkms/nvidia-current/580.95.05/6.8.0-1021-aws/x86_64/log/make.log --\n" + makeLog
	for name, tt := range map[string]struct{ files, log, fault string }{
		"failed":          {failed, "/var/lib/dkms/nvidia/580.95.05/build/make.log", fault},
		"kept-beside":     {kept, "/var/lib/dkms/nvidia-current/580.95.05/6.8.0-1021-aws/x86_64/log/make.log", fault},
		"built":           {kept + "-- var/lib/dkms/nvidia-current/580.95.05/6.8.0-1021-aws/x86_64/module/nvidia.ko.zst --\nx\n", "", ""},
		"built-otherwise": {failed + "-- lib/modules/6.8.0-1021-aws/kernel/nvidia-580/nvidia.ko --\nx\n", "", ""},
		"other-kernel":    {failed + "-- lib/modules/6.8.0-1015-aws/updates/dkms/nvidia.ko --\nx\n", "/var/lib/dkms/nvidia/580.95.05/build/make.log", fault},
		"no-error":        {"-- var/lib/dkms/nvidia/580.95.05/build/make.log --\nmake: Leaving directory\n", "", ""},
		"never":           {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			apply, err := ReadModuleBuild(hosttest.Tree(t, tt.files))
			var f facts.Facts
			if apply != nil {
				apply(&f)
			}
			if f.Machine.MakeLog != tt.log || f.Machine.MakeError != tt.fault || (err == nil) != (tt.log != "") {
				t.Errorf("%q, %q, %v", f.Machine.MakeLog, f.Machine.MakeError, err)
			}
		})
	}
}

// TestReadDKMS reads what a build at the next boot would find.
func TestReadDKMS(t *testing.T) {
	const source = "-- var/lib/dkms/nvidia/580.95.05/source/dkms.conf --\nx\n"
	apply, err := ReadDKMS(hosttest.Tree(t, source+"-- lib/modules/6.8.0-1021-aws/build/Makefile --\nx\n"+
		"-- lib/modules/6.8.0-1024-aws/modules.dep --\nx\n-- usr/bin/gcc --\nx\n-- usr/bin/make --\nx\n"))
	if err != nil {
		t.Fatal(err)
	}
	var f facts.Facts
	apply(&f)
	want := &facts.DKMS{Sources: []string{"580.95.05"}, Headers: []string{"6.8.0-1021-aws"}, Compiler: "/usr/bin/gcc", Make: "/usr/bin/make"}
	if diff := cmp.Diff(want, f.Machine.DKMS); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := ReadDKMS(hosttest.Tree(t, "-- usr/bin/gcc --\nx\n")); !errors.Is(err, host.ErrAbsent) {
		t.Errorf("without a source: %v, want ErrAbsent", err)
	}
}

func TestParseMakeLog(t *testing.T) {
	for line, want := range map[string]bool{
		"nv.c:1:2: error: implicit declaration of function": true, "ERROR: Kernel configuration is invalid.": true,
		"/bin/sh: 1: gcc-12: not found": true, "make: *** [Makefile:80: modules] Error 2": true,
		"  CC [M]  nvidia/nv-error.o": false, "checking for errors": false, "-Werror=strict": false,
	} {
		if _, fault := parseMakeLog(line + "\n"); (fault != "") != want {
			t.Errorf("%s: %q", line, fault)
		}
	}
}

func FuzzParseMakeLog(f *testing.F) {
	f.Add(makeLog)
	f.Fuzz(func(t *testing.T, text string) {
		if _, fault := parseMakeLog(text); len(fault) > longestFault || strings.Contains(fault, "\n") {
			t.Errorf("%q", fault)
		}
	})
}
