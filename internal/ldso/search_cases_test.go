package ldso_test

import (
	"os"
	"strings"
)

var (
	liba  = library{path: "/a/libqx.so"}
	twice = []library{liba, {path: "/b/libqx.so"}}
	deep  = []library{{path: "/a/libqx.so", needs: "libqy.so"}, {path: "/a/libqy.so"}}
)

// searchCases has a case for each rule of the search. Library names are such that no machine has them.
var searchCases = []searchCase{
	{
		name:  "rpath-before-library-path",
		probe: library{needs: "libqx.so", flags: rpath + "$T/a"}, libs: twice, env: "$T/b",
		want: []string{"/a/libqx.so: DT_RPATH of /bin/probe"},
	},
	{
		name:  "library-path-before-runpath",
		probe: library{needs: "libqx.so", flags: runpath + "$T/a"}, libs: twice, env: "$T/b",
		want: []string{"/b/libqx.so: LD_LIBRARY_PATH"},
	},
	{
		name: "runpath-before-cache", own: true, conf: "/b\n",
		probe: library{needs: "libqx.so", flags: runpath + "/a"}, libs: twice,
		want: []string{"/a/libqx.so: DT_RUNPATH of /bin/probe"},
	},
	{
		name: "cache-before-system", own: true, conf: "/b\n",
		probe: library{needs: "libqx.so"}, libs: []library{{path: "%SYSTEM/libqx.so"}, {path: "/b/libqx.so"}},
		want: []string{"/b/libqx.so: ld.so.cache"},
	},
	{
		name: "system-without-cache", own: true,
		probe: library{needs: "libqx.so"}, prepare: inSystemDir,
		libs: []library{{path: "/b/libqx.so"}},
		want: []string{"%SYSTEM/libqx.so: default path"},
	},
	{
		name: "system-after-stale-cache", own: true, conf: "/b\n",
		probe: library{needs: "libqx.so"}, prepare: inSystemDir, libs: []library{{path: "/b/libqx.so"}},
		stale: func(w *tree) { os.Remove(w.dir + "/b/libqx.so") },
		want:  []string{"%SYSTEM/libqx.so: default path"},
	},
	{
		name: "no-default-libraries", own: true, conf: "/b\n",
		probe: library{needs: "libqn.so", flags: runpath + "/a"}, prepare: inSystemDir,
		libs:    []library{{path: "/a/libqn.so", needs: "libqx.so", flags: "-Wl,-z,nodefaultlib"}},
		want:    []string{"/a/libqn.so: DT_RUNPATH of /bin/probe"},
		missing: []string{"libqx.so"},
	},
	{
		name:  "rpath-inherited",
		probe: library{needs: "libqx.so", flags: rpath + "$T/a"}, libs: deep,
		want: []string{"/a/libqx.so: DT_RPATH of /bin/probe", "/a/libqy.so: DT_RPATH of /bin/probe"},
	},
	{
		name:  "runpath-not-inherited",
		probe: library{needs: "libqx.so", flags: runpath + "$T/a"}, libs: deep,
		want:    []string{"/a/libqx.so: DT_RUNPATH of /bin/probe"},
		missing: []string{"libqy.so"},
	},
	{
		name:  "runpath-of-requester-turns-inherited-rpath-off",
		probe: library{needs: "libqx.so", flags: rpath + "$T/a"},
		libs: []library{
			{path: "/a/libqx.so", needs: "libqy.so", flags: runpath + "$T/b"},
			{path: "/a/libqy.so"}, {path: "/b/libqy.so"},
		},
		want: []string{"/a/libqx.so: DT_RPATH of /bin/probe", "/b/libqy.so: DT_RUNPATH of /a/libqx.so"},
	},
	{
		name:  "rpath-nearest-first",
		probe: library{needs: "libqx.so", flags: rpath + "$T/a"},
		libs: []library{
			{path: "/a/libqx.so", needs: "libqy.so", flags: rpath + "$T/b"},
			{path: "/a/libqy.so"}, {path: "/b/libqy.so", needs: "libqz.so"}, {path: "/b/libqz.so"},
		},
		want: []string{
			"/a/libqx.so: DT_RPATH of /bin/probe", "/b/libqy.so: DT_RPATH of /a/libqx.so",
			"/b/libqz.so: DT_RPATH of /a/libqx.so",
		},
	},
	{
		name:  "rpath-passes-through-an-object-with-runpath",
		probe: library{needs: "libqx.so", flags: rpath + "$T/a"},
		libs: []library{
			{path: "/a/libqx.so", needs: "libqy.so", flags: runpath + "$T/b"},
			{path: "/b/libqy.so", needs: "libqz.so"}, {path: "/a/libqz.so"}, {path: "/b/libqz.so"},
		},
		want: []string{
			"/a/libqx.so: DT_RPATH of /bin/probe", "/b/libqy.so: DT_RUNPATH of /a/libqx.so",
			"/a/libqz.so: DT_RPATH of /bin/probe",
		},
	},
	{
		name:  "dlopen-is-searched-for-its-caller",
		opens: []string{"$T/a/libqo.so", "libqo.so>libqx.so"},
		libs: []library{
			{path: "/a/libqo.so", flags: rpath + "$T/b", source: openerSource}, {path: "/b/libqx.so"},
		},
		want: []string{"/a/libqo.so: its path", "/b/libqx.so: DT_RPATH of /a/libqo.so"},
	},
	{
		name:  "dlopened-library-inherits-no-rpath-of-its-caller",
		opens: []string{"$T/a/libqo.so", "libqo.so>libqx.so"},
		libs: []library{
			{path: "/a/libqo.so", flags: rpath + "$T/b", source: openerSource},
			{path: "/b/libqx.so", needs: "libqy.so"}, {path: "/b/libqy.so"},
		},
		want:    []string{"/a/libqo.so: its path", "/b/libqx.so: DT_RPATH of /a/libqo.so"},
		missing: []string{"libqy.so"},
	},
	{
		name:  "dlopened-library-inherits-rpath-of-the-program",
		probe: library{flags: rpath + "$T/b"}, opens: []string{"$T/a/libqx.so"}, libs: []library{
			{path: "/a/libqx.so", needs: "libqy.so"}, {path: "/b/libqy.so"},
		},
		want: []string{"/a/libqx.so: its path", "/b/libqy.so: DT_RPATH of /bin/probe"},
	},
	{
		name:  "origin-of-program-is-its-real-place",
		probe: library{soname: "/elsewhere/run", needs: "libqx.so", flags: runpath + "$ORIGIN/../a"},
		libs:  []library{liba}, prepare: func(w *tree) { w.link("/elsewhere/run", "$T/bin/probe") },
		want: []string{"/bin/../a/libqx.so: DT_RUNPATH of /elsewhere/run"},
	},
	{
		name:  "origin-of-library-is-its-path",
		probe: library{needs: "libqx.so", flags: runpath + "$T/link"},
		libs: []library{
			{path: "/deep/a/libqx.so", needs: "libqy.so libqz.so", flags: runpath + "$ORIGIN/../b:${ORIGIN}"},
			{path: "/deep/b/libqy.so"}, {path: "/b/libqy.so"}, {path: "/deep/a/libqz.so"},
		},
		prepare: func(w *tree) { w.link("/link", "$T/deep/a") },
		want: []string{
			"/link/libqx.so: DT_RUNPATH of /bin/probe", "/link/../b/libqy.so: DT_RUNPATH of /link/libqx.so",
			"/link/libqz.so: DT_RUNPATH of /link/libqx.so",
		},
	},
	{
		name: "origin-of-library-in-the-root", own: true,
		probe: library{needs: "libqx.so", flags: runpath + "/"},
		libs:  []library{{path: "/libqx.so", needs: "libqy.so", flags: runpath + "$ORIGIN/b/"}, {path: "/b/libqy.so"}},
		want:  []string{"/libqx.so: DT_RUNPATH of /bin/probe", "//b/libqy.so: DT_RUNPATH of /libqx.so"},
	},
	{
		name:  "origin-of-linked-library",
		probe: library{needs: "libqx.so", flags: runpath + "$T/a"},
		libs: []library{
			{path: "/b/libqx.so", needs: "libqy.so", flags: runpath + "$ORIGIN"}, {path: "/a/libqy.so"}, {path: "/b/libqy.so"},
		},
		prepare: func(w *tree) { w.link("/a/libqx.so", "../b/libqx.so") },
		want:    []string{"/a/libqx.so: DT_RUNPATH of /bin/probe", "/a/libqy.so: DT_RUNPATH of /a/libqx.so"},
	},
	{
		name:  "lib-token",
		probe: library{needs: "libqx.so", flags: runpath + "$T/$LIB/p:$T/${LIB}/q:$T/$LIBx/r:$T/$/s"},
		libs:  []library{{path: "/%LIB/q/libqx.so"}},
		want:  []string{"/%LIB/q/libqx.so: DT_RUNPATH of /bin/probe"},
	},
	{
		name:  "unknown-tokens-stand-for-themselves",
		probe: library{needs: "libqx.so", flags: runpath + "$T/$LIBx/r:$T/$/s"}, libs: []library{{path: "/$LIBx/r/libqx.so"}},
		want: []string{"/$LIBx/r/libqx.so: DT_RUNPATH of /bin/probe"},
	},
	{
		name:  "preload-wins",
		probe: library{needs: "libqx.so", flags: rpath + "$T/a"}, libs: twice, preload: "$T/b/libqx.so",
		want: []string{"/b/libqx.so: LD_PRELOAD"},
	},
	{
		name:  "preload-by-soname",
		probe: library{needs: "libqx.so", flags: rpath + "$T/a"}, env: "$T/b", preload: "libqy.so:libqw.so",
		libs: []library{liba, {path: "/b/libqy.so", needs: "libqx.so"}, {path: "/b/libqw.so"}, {path: "/b/libqx.so"}},
		want: []string{
			"/b/libqy.so: LD_PRELOAD", "/b/libqw.so: LD_PRELOAD", "/a/libqx.so: DT_RPATH of /bin/probe",
		},
	},
	{
		name:  "absent-preload-is-ignored",
		probe: library{needs: "libqx.so", flags: rpath + "$T/a"}, libs: twice, preload: "$T/c/libqx.so $T/b/libqx.so",
		want: []string{"/b/libqx.so: LD_PRELOAD"}, missing: []string{"/c/libqx.so"},
	},
	{
		name: "preload-file", own: true,
		probe: library{needs: "libqx.so", flags: rpath + "/a"}, libs: append(twice, library{path: "/b/libqw.so"}),
		preload: "/b/libqw.so",
		prepare: func(w *tree) {
			w.write("/etc/ld.so.preload", []byte("# wins over all: /a/libqx.so\n/b/libqw.so\t/b/libqx.so # twice\n"))
		},
		want:    []string{"/b/libqw.so: LD_PRELOAD", "/b/libqx.so: /etc/ld.so.preload"},
		missing: []string{"#", "twice"}, // glibc blanks the first comment only
	},
	{
		name:  "already-loaded-wins",
		probe: library{needs: "libqy.so libqz.so", flags: runpath + "$T/a"},
		libs: []library{
			{path: "/a/libqy.so", needs: "libqx.so", flags: rpath + "$T/a"}, liba,
			{path: "/a/libqz.so", needs: "libqx.so", flags: rpath + "$T/b"}, {path: "/b/libqx.so"},
		},
		want: []string{
			"/a/libqy.so: DT_RUNPATH of /bin/probe", "/a/libqz.so: DT_RUNPATH of /bin/probe",
			"/a/libqx.so: DT_RPATH of /a/libqy.so",
		},
	},
	{
		name:  "already-loaded-by-soname",
		opens: []string{"$T/a/libqx-1.2.so", "$T/b/libqz.so"},
		libs: []library{
			{path: "/a/libqx-1.2.so", soname: "libqx.so"}, {path: "/b/libqz.so", needs: "libqx.so", flags: rpath + "$T/b"},
			{path: "/b/libqx.so"},
		},
		want: []string{"/a/libqx-1.2.so: its path", "/b/libqz.so: its path"},
	},
	{
		name:  "one-file-by-two-names",
		opens: []string{"$T/a/libqx.so", "$T/a/alias.so"}, libs: []library{{path: "/a/libqx.so", soname: "-"}},
		prepare: func(w *tree) { w.link("/a/alias.so", "libqx.so") },
		want:    []string{"/a/libqx.so: its path"},
	},
	{
		name:  "one-soname-in-two-files",
		opens: []string{"$T/a/libqx.so", "$T/b/libqx.so"}, libs: twice,
		want: []string{"/a/libqx.so: its path", "/b/libqx.so: its path"},
	},
	{
		name:  "other-class-is-passed-over",
		probe: library{needs: "libqx.so"}, env: "$T/a:$T/b", libs: twice,
		prepare: func(w *tree) { w.patch("/a/libqx.so", 4, 1) },
		want:    []string{"/b/libqx.so: LD_LIBRARY_PATH"},
	},
	{
		name:  "other-machine-is-passed-over",
		probe: library{needs: "libqx.so"}, env: "$T/a:$T/b", libs: twice,
		prepare: func(w *tree) { w.patch("/a/libqx.so", 18, 22, 0) },
		want:    []string{"/b/libqx.so: LD_LIBRARY_PATH"},
	},
	{
		name:  "only-another-class",
		probe: library{needs: "libqx.so"}, env: "$T/a", libs: []library{liba},
		prepare: func(w *tree) { w.patch("/a/libqx.so", 4, 1) }, missing: []string{"libqx.so"},
	},
	{
		name:  "no-elf-is-an-error",
		probe: library{needs: "libqx.so"}, env: "$T/a:$T/b", libs: twice,
		prepare: func(w *tree) {
			w.write("/a/libqx.so", []byte("/* GNU ld script */\n"+strings.Repeat("GROUP ( libqx.so.1 )\n", 8)))
		},
		missing: []string{"libqx.so"},
	},
	{
		name:  "empty-file-is-an-error",
		probe: library{needs: "libqx.so"}, env: "$T/a:$T/b", libs: twice,
		prepare: func(w *tree) { w.write("/a/libqx.so", nil) }, missing: []string{"libqx.so"},
	},
	{
		name:  "object-file-is-an-error",
		probe: library{needs: "libqx.so"}, env: "$T/a:$T/b", libs: twice,
		prepare: func(w *tree) { w.patch("/a/libqx.so", 16, 1, 0) }, missing: []string{"libqx.so"},
	},
	{
		name:  "hwcaps-in-library-path",
		probe: library{needs: "libqx.so"}, env: "$T/a", libs: []library{liba}, prepare: hwcapIn("/a"),
		want: []string{hwcapPath("/a") + ": LD_LIBRARY_PATH"},
	},
	{
		name:  "hwcaps-in-runpath",
		probe: library{needs: "libqx.so", flags: runpath + "$T/a"}, libs: []library{liba}, prepare: hwcapIn("/a"),
		want: []string{hwcapPath("/a") + ": DT_RUNPATH of /bin/probe"},
	},
	{
		name: "hwcaps-in-cache", own: true, conf: "/a\n",
		probe: library{needs: "libqx.so"}, libs: []library{liba}, prepare: hwcapIn("/a"),
		want: []string{hwcapPath("/a") + ": ld.so.cache"},
	},
	{
		name: "hwcaps-in-system-directory", own: true,
		probe: library{needs: "libqx.so"}, prepare: hwcapIn("%SYSTEM"), libs: []library{{path: "/lib/libqw.so"}},
		want: []string{hwcapPath("%SYSTEM") + ": default path"},
	},
	{
		name:  "library-path-separators-and-relative-parts",
		probe: library{needs: "libqx.so libqy.so libqz.so"}, env: "$T/none//;$T/a/;;sub", workDir: "/cwd",
		libs: []library{{path: "/a/libqx.so"}, {path: "/cwd/sub/libqy.so"}, {path: "/cwd/libqz.so"}},
		want: []string{"/a/libqx.so: LD_LIBRARY_PATH", "/cwd/sub/libqy.so: LD_LIBRARY_PATH",
			"/cwd/libqz.so: LD_LIBRARY_PATH"},
	},
	{
		name:  "needed-with-a-slash",
		probe: library{needs: "$T/a/libqx.so"}, libs: []library{
			{path: "/a/libqx.so", needs: "$ORIGIN/sub/libqy.so"}, {path: "/a/sub/libqy.so"},
		},
		want: []string{"/a/libqx.so: its path", "/a/sub/libqy.so: its path"},
	},
	{
		name:  "breadth-first",
		probe: library{needs: "libqx.so libqy.so"}, env: "$T/a", libs: []library{
			{path: "/a/libqx.so", needs: "libqz.so libqw.so"}, {path: "/a/libqy.so", needs: "libqw.so libqx.so"},
			{path: "/a/libqz.so", needs: "libqv.so"}, {path: "/a/libqw.so"}, {path: "/a/libqv.so", needs: "libqy.so libqv.so"},
		},
		want: []string{
			"/a/libqx.so: LD_LIBRARY_PATH", "/a/libqy.so: LD_LIBRARY_PATH", "/a/libqz.so: LD_LIBRARY_PATH",
			"/a/libqw.so: LD_LIBRARY_PATH", "/a/libqv.so: LD_LIBRARY_PATH",
		},
	},
}

func inSystemDir(w *tree) { w.build(library{path: "%SYSTEM/libqx.so"}) }

func hwcapPath(dir string) string { return dir + "/glibc-hwcaps/x86-64-v2/libqx.so" }

// hwcapIn puts libqx.so into the glibc-hwcaps subdirectories of a directory, if the CPU uses any.
func hwcapIn(dir string) func(w *tree) {
	return func(w *tree) {
		w.Helper()
		if len(cpuHwcaps(w)) == 0 {
			w.Skip("this CPU uses no glibc-hwcaps")
		}
		w.build(library{path: hwcapPath(dir)})
		w.build(library{path: dir + "/glibc-hwcaps/x86-64-v9/libqx.so"})
	}
}
