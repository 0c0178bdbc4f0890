package matrix

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"

	"golang.org/x/tools/txtar"
	"mvdan.cc/sh/v3/syntax"
)

// anywhere are programs that every system has, by the package that brings them, and words of the shell itself.
var anywhere = map[string]string{
	"sudo": "sudo", "reboot": "systemd", "systemctl": "systemd", "modprobe": "kmod", "tee": "coreutils", "echo": "coreutils",
	"rm": "coreutils", "chmod": "coreutils", "grep": "grep", "mount": "util-linux", "sed": "sed", "curl": "curl", "ldconfig": "glibc", "dkms": "dkms",
	"export": "shell", "unset": "shell", "ulimit": "shell",
	"nvidia-smi": "driver", "nvidia-modprobe": "driver", "nvidia-uninstall": "driver", "nvidia-cuda-mps-control": "driver",
	"mokutil": "mokutil", "apiclient": "Bottlerocket",
	"nvidia-ctk": "nvidia-container-toolkit", "pip": "environment", "uv": "environment", "conda": "environment", "python3": "environment",
}

// ofAPT and ofDNF are those of one family.
var (
	ofAPT = []string{"apt-get", "apt-mark", "dpkg", "update-initramfs", "gpg"}
	ofDNF = []string{"dnf", "dracut"}
)

// systems are those that a case is judged on, beside its own.
var systems = map[string]facts.System{
	"":       {},
	"ubuntu": {ID: "ubuntu", IDLike: "debian", OS: "Ubuntu 24.04.3 LTS"},
	"debian": {ID: "debian", OS: "Debian GNU/Linux 12 (bookworm)"},
	"rhel":   {ID: "rhel", IDLike: "fedora", OS: "Red Hat Enterprise Linux 9.6 (Plow)"},
	"amzn":   {ID: "amzn", IDLike: "fedora", OS: "Amazon Linux 2023.9.20251110"},
}

// TestStepsAreCommands: on its own system and on each of the four, every command of every case is one line of shell in
// which each program is that system's; each error has something to do, and no step is empty. make test takes every fourth
// case to the other systems.
func TestStepsAreCommands(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatal("no cases found")
	}
	runs, errors, mended := 0, 0, 0
	for i, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for id, as := range systems {
			if id != "" && i%4 != 0 && !wholeGrid {
				continue
			}
			var read pin.System
			v := judgeFacts(t, archive, false, func(f *probe.Facts) {
				if id != "" {
					f.System.ID, f.System.IDLike, f.System.OS = as.ID, as.IDLike, as.OS
				}
				read = pins.System(model.NewMachine(Embedded(), f, Target{}, verdict.Policy{}))
			})
			for _, f := range v.Findings {
				if f.Rule == "driver-auto-update" && id != "" {
					continue // what upgrades packages names their manager
				}
				name := file + " " + id + " " + f.Rule
				n := wantSteps(t, name, f, read)
				runs += n
				if f.Severity == verdict.Error {
					errors++
					mended += min(n, 1)
				}
			}
		}
	}
	t.Logf("%d commands; %d of %d errors have one", runs, mended, errors)
	if runs < 2_000 {
		t.Errorf("only %d commands were looked at", runs)
	}
}

// wantSteps counts a finding's commands.
func wantSteps(t *testing.T, name string, f verdict.Finding, read pin.System) (runs int) {
	t.Helper()
	if f.Severity == verdict.Error && len(f.Pins)+len(f.Steps) == 0 {
		t.Errorf("%s: nothing to do", name)
	}
	if len(f.Do) != len(f.Steps) {
		t.Errorf("%s: %d steps, and %d texts of them", name, len(f.Steps), len(f.Do))
	}
	for _, s := range stepsOf(f) {
		if s.Say+s.Run == "" {
			t.Errorf("%s: an empty step", name)
		}
		if s.Run == "" && !begins(s.Say) {
			t.Errorf("%s: %q does not begin with what to do", name, s.Say)
		}
		if s.Run != "" {
			runs++
			wantPrograms(t, name, s.Run, read)
		}
	}
	for _, p := range f.Pins {
		for tool, command := range p.Commands {
			if !strings.HasPrefix(command, "RUN ") { // of a Dockerfile
				runs++
				wantPrograms(t, name, command, systemOf(tool, read))
			}
		}
	}
	return runs
}

// doing are the verbs with which a step for a person begins.
var doing = strings.Fields("add ask attest build call check choose compile configure copy create do finish give install keep launch " +
	"leave let look make mount move name put reinstall remove rename repair replace report restart run save set start stop switch take " +
	"turn uninstall update use upgrade read bring reset boot keep")

// begins reports whether a step begins with a verb, at most after a clause that says when.
func begins(say string) bool {
	for clause := range strings.FieldsFuncSeq(say, func(r rune) bool { return strings.ContainsRune(",:;", r) }) {
		word, _, _ := strings.Cut(strings.TrimSpace(clause), " ")
		if slices.Contains(doing, word) {
			return true
		}
		if !slices.Contains([]string{"if", "to", "in", "on", "where", "as"}, word) {
			return false
		}
	}
	return false
}

// systemOf returns the system that a pin's command is for: where none is known, apt's is for Debian's family and dnf's
// for Red Hat's.
func systemOf(tool string, read pin.System) pin.System {
	family := map[string]string{"apt": "ubuntu", "dnf": "rhel"}[tool]
	if family != "" && read.Family == "" || read.Root {
		return pin.System{Family: family}
	}
	return read
}

func wantPrograms(t *testing.T, name, command string, system pin.System) {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) != 1 {
		t.Errorf("%s: %q is no single command: %v", name, command, err)
		return
	}
	if strings.Contains(command, "\n") {
		t.Errorf("%s: %q is more than a line", name, command)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		words := call.Args
		if words[0].Lit() == "sudo" {
			words = words[1:]
		}
		program := words[0].Lit()
		if len(words[0].Parts) > 0 && program == "" || strings.Contains(program, "/bin/python") || strings.HasPrefix(program, "python3.") {
			return true // an environment's own Python
		}
		known := anywhere[program] != "" || system.APT() && slices.Contains(ofAPT, program) || system.DNF() && slices.Contains(ofDNF, program)
		if !known {
			t.Errorf("%s: %q is no program of %q: %q", name, program, system.Family, command)
		}
		return true
	})
}
