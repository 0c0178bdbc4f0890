//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"
)

// A root is a host as a tree of files, and which of them are opened.
type root struct {
	name    string
	archive *txtar.Archive
	opened  []string
}

// secret stands outside every root; it may be printed nowhere.
const secret = "TOPSECRET-535.1.1"

// roots returns the hosts of probe's tests.
func (b *bench) roots() ([]root, error) {
	if b.prepared.roots != nil {
		return b.prepared.roots, nil
	}
	if _, err := exec.LookPath("strace"); err != nil {
		return nil, err
	}
	outside := filepath.Join(b.dir, "outside")
	if err := os.MkdirAll(outside, 0o755); err != nil {
		return nil, err
	}
	body := secret + "\nPackage: " + secret + "\nversion=" + secret + "\nID=" + secret + "\n"
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte(body), 0o644); err != nil {
		return nil, err
	}
	err := filepath.WalkDir(filepath.Join(b.project, "probe"), func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".txtar" {
			return err
		}
		archive, err := txtar.ParseFile(name)
		b.prepared.roots = append(b.prepared.roots, root{name: strings.TrimSuffix(filepath.Base(name), ".txtar"),
			archive: archive})
		return err
	})
	if err == nil && len(b.prepared.roots) == 0 {
		err = fmt.Errorf("no *.txtar below probe: run it in the project's directory")
	}
	return b.prepared.roots, err
}

// plant unpacks a root; of the entries' kinds (probe's tests say which there are) only links matter here.
func (r root) plant(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, f := range r.archive.Files {
		name, _, _ := strings.Cut(f.Name, " = ")
		name, target, link := strings.Cut(name, " -> ")
		file := filepath.Join(dir, name)
		if strings.HasPrefix(name, "@") {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		var err error
		switch {
		case link:
			err = os.Symlink(target, file)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(file, 0o755)
		case strings.Contains(f.Name, " = ") || len(f.Data) == 0 && strings.Contains(name, ".so."):
			err = os.WriteFile(file, append([]byte(elfHeader), f.Data...), 0o644)
		default:
			err = os.WriteFile(file, f.Data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// elfHeader begins a shared library for x86-64 with nothing in it.
const elfHeader = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00\x01\x00\x00\x00" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00\x40\x00\x38\x00\x00\x00\x40\x00\x00\x00\x00\x00"

// hostilities put something else in a file's place.
var hostilities = map[string]func(b *bench, file string) error{
	"a link out": func(b *bench, file string) error { return os.Symlink(b.dir+"/outside/secret", file) },
	"a relative link": func(b *bench, file string) error {
		return os.Symlink(strings.Repeat("../", 30)+b.dir+"/outside/secret", file)
	},
	"through /proc": func(b *bench,
		file string) error {
		return os.Symlink("/proc/self/root"+b.dir+"/outside/secret", file)
	},
	"through init": func(b *bench,
		file string) error {
		return os.Symlink("/proc/1/root"+b.dir+"/outside/secret", file)
	},
	"the shadow file": func(_ *bench, file string) error { return os.Symlink("/etc/shadow", file) },
	"a loop":          func(_ *bench, file string) error { return os.Symlink(filepath.Base(file), file) },
	"a pipe":          func(_ *bench, file string) error { return syscall.Mkfifo(file, 0o644) },
	"a socket":        func(_ *bench, file string) error { return syscall.Mknod(file, syscall.S_IFSOCK|0o644, 0) },
	"/dev/zero": func(_ *bench, file string) error {
		return syscall.Mknod(file, syscall.S_IFCHR|0o666, int(unix.Mkdev(1, 5)))
	},
	"/dev/tty": func(_ *bench, file string) error {
		return syscall.Mknod(file, syscall.S_IFCHR|0o666, int(unix.Mkdev(5, 0)))
	},
	"a disk": func(_ *bench, file string) error {
		return syscall.Mknod(file, syscall.S_IFBLK|0o666, int(unix.Mkdev(254, 0)))
	},
	"a directory":      func(_ *bench, file string) error { return os.Mkdir(file, 0o755) },
	"empty":            func(_ *bench, file string) error { return os.WriteFile(file, nil, 0o644) },
	"unreadable":       func(_ *bench, file string) error { return os.WriteFile(file, []byte("x"), 0) },
	"10 GB of nothing": func(_ *bench, file string) error { return sparse(file, 10<<30) },
	"64 MB of nothing": func(_ *bench, file string) error { return sparse(file, 64<<20) },
	"noise": func(b *bench, file string) error {
		noise := make([]byte, 1<<20)
		for i := range noise {
			noise[i] = byte(b.random.Uint32())
		}
		return os.WriteFile(file, noise, 0o644)
	},
	"escapes": func(_ *bench, file string) error {
		return os.WriteFile(file,
			[]byte(strings.Repeat("Name: \x1b[31m\nVersion: 1\x1b]0;x\x07\nID=\x1b[2J\nNVRM version: \x1b[31m 535.1\x1b[0m.1\n"+
				"__version__ = \"2.9.0\x1b[31m+cu130\"\nversion=\x1b[1m999.99\x00\"\n::error::x|y=1\n", 50)), 0o644)
	},
}

func sparse(file string, size int64) error {
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		return err
	}
	return os.Truncate(file, size)
}

func rootCases(b *bench) ([]testCase, error) {
	roots, err := b.roots()
	if err != nil {
		return nil, err
	}
	var cases []testCase
	for i := range roots {
		for name, put := range hostilities {
			cases = append(cases, testCase{roots[i].name + " with " + name + " for every file",
				func(b *bench) { roots[i].hostile(b, put) }})
		}
	}
	return cases, nil
}

// hostile creates the root, replaces each file that the program opens in it by the hostile one, and checks the result.
func (r *root) hostile(b *bench, put func(*bench, string) error) {
	dir := filepath.Join(b.dir, "root")
	if err := r.plant(dir); err != nil {
		b.tally.fault("crashes", "torture itself: %v", err)
		return
	}
	if r.opened == nil {
		r.opened = b.traced(dir).inside
	}
	for _, file := range r.opened {
		if info, err := os.Lstat(file); err != nil || info.IsDir() {
			continue
		}
		_ = os.Remove(file)
		if err := put(b, file); err != nil {
			b.tally.fault("crashes", "torture itself: %v", err)
		}
	}
	seen := b.traced(dir)
	for _, line := range seen.outside {
		b.tally.fault("opens outside", "%s", line)
	}
	for _, line := range seen.writes {
		b.tally.fault("writes", "%s", line)
	}
	for _, line := range seen.ran {
		b.tally.fault("programs run", "%s", line)
	}
	b.judge(b.rootOrder(dir), demand{deadline: rootLimit, codes: judged, json: true, command: "doctor"})
}

const rootLimit = 3 * time.Second

func (b *bench) rootOrder(dir string) order {
	return order{Args: []string{b.binary, "doctor", "--root", dir, "--timeout", rootLimit.String(), "-o", "json"}}
}

// trace is what strace saw of a run.
type trace struct{ inside, outside, writes, ran []string }

// calls are those that open, write or start something.
const calls = "open,openat,openat2,creat,execve,execveat,unlink,unlinkat,mkdir,mkdirat,mknod,mknodat," +
	"rename,renameat,renameat2,link,linkat," +
	"symlink,symlinkat,truncate,ftruncate,chmod,fchmod,fchmodat,chown,fchownat,utimensat,%network"

// own matches the files that the Go runtime, the C library and the check of limits open for themselves, and
// /proc/self/fd, through which a file in the root is reopened. The target of such a link is judged like any other open.
var own = regexp.MustCompile(`^(/etc/ld\.so\.cache|/etc/localtime|/usr/share/zoneinfo/.*|/dev/null|` +
	`(/usr)?/lib/[a-z0-9_-]+/lib(c|dl|pthread|resolv)\.so\.\d|` +
	`/proc/(self|\d+)/(cgroup|cmdline|maps|mountinfo|exe|fd)|/sys/fs/cgroup(/.*)?|` +
	`/sys/kernel/mm/transparent_hugepage/hpage_pmd_size)$`)

// traced runs doctor on a tree under strace, which tells where each descriptor really leads.
func (b *bench) traced(dir string) trace {
	log := filepath.Join(b.dir, "strace")
	o := b.rootOrder(dir)
	o.Args = append([]string{"strace", "-f", "-y", "-s", "4096", "-e", "trace=" + calls, "-o", log}, o.Args...)
	got := b.judge(o, demand{codes: judged, json: true})
	if strings.Contains(string(got.Out), secret) {
		b.tally.fault("opens outside", "the secret is in the report")
	}
	f, err := os.Open(log)
	if err != nil {
		b.tally.fault("crashes", "torture itself: %v", err)
		return trace{}
	}
	defer f.Close()
	var t trace
	for lines := bufio.NewScanner(f); lines.Scan(); {
		t.add(lines.Text(), dir, b.binary, b.config())
	}
	slices.Sort(t.inside)
	t.inside = slices.Compact(t.inside)
	return t
}

var (
	call   = regexp.MustCompile(`^\d+ +(\w+)\((?:(?:AT_FDCWD|\d+)(?:<[^>]*>)?, )?(?:"([^"]*)")?(.*)$`)
	result = regexp.MustCompile(`\) = \d+<([^>]*)>`)
)

// add sorts one line:
//
//	4711 openat(AT_FDCWD</cwd>, "/tmp/root/etc/os-release", O_RDONLY|O_CLOEXEC) = 3</tmp/root/etc/os-release>
func (t *trace) add(line, root, program, config string) {
	m := call.FindStringSubmatch(line)
	if m == nil {
		return
	}
	name, named, rest := m[1], m[2], m[3]
	within := func(path string) bool { return path == root || strings.HasPrefix(path, root+"/") }
	switch {
	case strings.HasPrefix(name, "exec"):
		if named != program {
			t.ran = append(t.ran, line)
		}
	case !strings.HasPrefix(name, "open"):
		t.writes = append(t.writes, line)
	case strings.Contains(rest, "O_WRONLY") || strings.Contains(rest, "O_RDWR") || strings.Contains(rest, "O_CREAT"):
		t.writes = append(t.writes, line)
	default:
		led := result.FindStringSubmatch(rest)
		switch {
		case led != nil && within(led[1]):
			t.inside = append(t.inside, led[1])
		case led != nil && own.MatchString(led[1]), named == config:
		case led != nil, filepath.IsAbs(named) && !within(named) && !own.MatchString(named) &&
			!strings.Contains(rest, "RESOLVE_IN_ROOT"):
			t.outside = append(t.outside, line)
		}
	}
}
