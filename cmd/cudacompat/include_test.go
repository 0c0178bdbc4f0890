//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cudacompat/internal/output"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/report/needs"
)

// secret is a file that the author of a requirements file must not see. Each line has a form that some reader accepts.
const secret = `machine corp login me password TOPSECRET
TOPSECRET
torch==2.9.0+TOPSECRET
topsecret-gpu==1.0
torch @ https://example.org/torch-2.9.0+TOPSECRET-cp312-cp312-linux_x86_64.whl
https://me:TOPSECRET@example.org
https://me:TOPSECRET@example.org/TOPSECRET-gpu.zip?TOPSECRET
-r TOPSECRET.txt
-e TOPSECRET
./TOPSECRET
${TOPSECRET}==1.0
--index-url https://me:TOPSECRET@example.org/simple
--TOPSECRET
`

// confused returns a directory with a requirements file, and around it the files that its includes must not reach.
func confused(t *testing.T) (outside string) {
	base := t.TempDir()
	dir, outside := filepath.Join(base, "repo"), filepath.Join(base, "outside")
	for _, d := range []string{dir + "/sub", dir + "/.git", outside} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"outside/secret.txt": secret, "secret.txt": secret,
		"other.txt": secret, "repo/nested.txt": "numpy\n-r ../other.txt\n", "repo/deeper.txt": "-r nested.txt\n"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": "../secret.txt", "absolute": outside + "/secret.txt",
		"chain": "link", "up": "..", "away": outside, "sub/up": "../../secret.txt", "process": "/proc/self/root",
		"here": "/proc/self/cwd", "input": "/dev/stdin", "zero": "/dev/zero", "loop": "loop", "pipe": "sub/fifo",
		"requirements-link.txt": "../outside/secret.txt", "self": "../repo/../secret.txt"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, fifo := range []string{dir + "/sub/fifo", outside + "/fifo"} {
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir) // a socket's name is short
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	return outside
}

// refused lists names of files that a file may not include. OUT stands for a directory outside.
var refused = []string{"../secret.txt", "../outside/secret.txt", "OUT/secret.txt", "/OUT/secret.txt", "/.OUT/secret.txt",
	"OUT/../outside/secret.txt", "./../secret.txt", "sub/../../secret.txt", "sub/../../outside/./secret.txt", "..//secret.txt",
	".git/../../secret.txt", "../repo/../secret.txt", "link", "./link", "link/", "absolute", "chain", "up/secret.txt",
	"up/outside/secret.txt", "up/repo/up/secret.txt", "away/secret.txt", "away/../secret.txt", "sub/up", "self",
	"requirements-link.txt", "/proc/self/rootOUT/secret.txt", "/proc/self/cwd/../secret.txt", "processOUT/secret.txt",
	"here/../secret.txt", "/proc/self/environ", "/proc/self/fd/0", "/dev/stdin", "/dev/fd/0", "input", "/dev/zero", "zero",
	"/dev/tty", "sub/fifo", "pipe", "OUT/fifo", "socket", "sub", ".", "loop", "file://OUT/secret.txt",
	"file:OUT/secret.txt", "FILE://localhostOUT/secret.txt", "file:../secret.txt", "~/secret.txt", "$HOME/secret.txt",
	"${HOME}/secret.txt", `..\secret.txt`, "../*.txt", "nested.txt", "deeper.txt", "../secret.txt/",
	"https://example.org/../secret.txt", strings.Repeat("../", 40) + ".OUT/secret.txt"}

// including lists kinds of files that include others: a beginning, a line for each included file with @ for its name,
// and an end.
var including = map[string][3]string{
	"requirements.txt": {"torch==2.9.0\n", "-r @\n", ""},
	"constrained.txt":  {"torch==2.9.0\n", "-c @\n", ""},
	"long.txt":         {"torch==2.9.0\n", "--requirement=@\n", ""},
	"Dockerfile":       {"FROM python:3.12\n", "RUN pip install -r @\n", "RUN pip install torch==2.9.0"},
	"Copied":           {"FROM python:3.12\n", "COPY @ /app/\n", "RUN pip install torch==2.9.0 -r /app/secret.txt -r link -r fifo\n"},
	"Printed":          {"FROM python:3.12\n", "RUN pip install $(cat @)\n", "RUN pip install torch==2.9.0"},
	"Synced":           {"FROM python:3.12\n", "RUN uv pip sync @\n", "RUN pip install torch==2.9.0"},
	"environment.yml":  {"dependencies:\n  - pip:\n      - torch==2.9.0\n", "      - |-\n        -r @\n", ""},
	"setuptools.toml": {"[project]\ndynamic = ['dependencies']\n[tool.setuptools.dynamic]\ndependencies = {file = [",
		"\n'@',", "]}\n"},
	"hatch.toml": {"[project]\ndynamic = ['dependencies']\n[tool.hatch.metadata.hooks.requirements_txt]\nfiles = [",
		"\n'@',", "]\n"},
}

// include writes a file of one of these kinds with these names.
func include(t *testing.T, file string, names ...string) {
	t.Helper()
	form := including[file]
	text := form[0]
	for _, name := range names {
		text += strings.ReplaceAll(form[1], "@", name)
	}
	if err := os.WriteFile(file, []byte(text+form[2]), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestConfusedDeputy checks that whatever a file includes, no byte from outside its directory is printed in any format,
// that the output says what was not looked at, and that pipes and devices do not block. make test takes a part of the
// names for each kind of file.
func TestConfusedDeputy(t *testing.T) {
	outside := confused(t)
	t.Setenv("HOME", outside)
	var names []string
	for _, name := range refused {
		names = append(names, strings.ReplaceAll(name, "OUT", outside))
	}
	for n, file := range slices.Sorted(maps.Keys(including)) {
		parts := slices.Collect(slices.Chunk(names, 30)) // fewer than are read at most
		if !wholeGrid {
			parts = parts[n%len(parts):][:1]
		}
		for _, some := range parts {
			include(t, file, some...)
			for _, command := range []string{"check", "requires", "requires --diff " + file} {
				said, code := everyFormat(t, command, file)
				if leak := leaked(said); leak != "" {
					t.Errorf("%s %s: %q", command, file, leak)
				}
				if code != exitInconclusive {
					t.Errorf("%s %s: exit %d", command, file, code)
				}
				for _, name := range some {
					if file == "requirements.txt" && command != "requires --diff "+file && !strings.Contains(said, mentioned(name)) {
						t.Errorf("%s %s does not say that %q was not looked at", command, file, name)
					}
				}
			}
		}
	}
}

// mentioned returns the name in JSON of a file that is included and not read.
func mentioned(name string) string {
	switch {
	case name == "nested.txt", name == "deeper.txt":
		return `"nested.txt line 2: the file that it includes"`
	case !isURL(name) && !filepath.IsAbs(name):
		name = filepath.Clean(name)
	}
	quoted, _ := json.Marshal(name)
	return string(quoted)
}

func isURL(name string) bool {
	return strings.Contains(name, "://") || strings.HasPrefix(name, "file:")
}

// leaked returns the surroundings of a piece of the secret, or "".
func leaked(said string) string {
	at := strings.Index(strings.ToLower(said), "topsecret")
	if at < 0 {
		return ""
	}
	return said[max(at-60, 0):min(at+20, len(said))]
}

// everyFormat returns a command's output for a file in every format, from one run.
func everyFormat(t *testing.T, command, file string) (string, int) {
	t.Helper()
	args, names := append(strings.Fields(command), file), output.ListNames(needs.Formats)
	switch {
	case command == "check":
		args, names = append(args, "--gpu", "L4", "--driver", "580.95.05", "-v", "--all"), output.ListNames(formats.All)
	case strings.Contains(command, "--diff"):
		names = output.ListNames(needs.DiffFormats)
	}
	for _, format := range names {
		args = append(args, "-o", format+"=out."+format)
	}
	var out bytes.Buffer
	code := run(args, streams{strings.NewReader(secret), &out, &out})
	for _, format := range names {
		data, err := os.ReadFile("out." + format)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		out.Write(data)
		os.Remove("out." + format)
	}
	return out.String(), code
}

// TestIncludedIsNotQuoted checks that no line is printed of an included file that is not a requirements file, such as
// the credentials that git keeps in a directory.
func TestIncludedIsNotQuoted(t *testing.T) {
	t.Chdir(t.TempDir())
	var lines []string // but for those that are requirements, which is what is looked for
	for line := range strings.Lines(secret) {
		if !strings.HasPrefix(line, "torch") && !strings.Contains(strings.ToLower(line), "topsecret-gpu") {
			lines = append(lines, line)
		}
	}
	all := strings.Join(lines, "")
	var names []string
	for i, text := range append(lines, all, "numpy==2.1.2\n"+all) {
		name := fmt.Sprintf("other%d", i)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	for file := range including {
		include(t, file, names...)
		for _, command := range []string{"check", "requires"} {
			said, _ := everyFormat(t, command, file)
			if leak := leaked(said); leak != "" {
				t.Errorf("%s %s: %q", command, file, leak)
			}
		}
	}
}

// TestIncludeRoot checks that files below --include-root are read, and none outside.
func TestIncludeRoot(t *testing.T) {
	base := t.TempDir()
	t.Chdir(base)
	for name, text := range map[string]string{"repo/sub/requirements.txt": "-r ../base.txt\n-r own.txt\n", "repo/base.txt": "torch==2.9.0\n",
		"repo/sub/own.txt": "numpy==2.1.2\n", "shared/limits.txt": "torch==2.9.0\n",
		"repo/sub/limited.txt": fmt.Sprintf("torch\n-c %s/shared/limits.txt\n", base)} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		file, root string
		code       int
		says       string
	}{
		{"repo/sub/requirements.txt", "", exitInconclusive, "not looked at: ../base.txt"},
		{"repo/sub/requirements.txt", "repo", exitOK, "torch   2.9.0"},
		{"repo/sub/requirements.txt", base + "/repo", exitOK, "torch   2.9.0"},
		{"repo/sub/requirements.txt", "shared", exitInconclusive, "outside --include-root"},
		{"repo/sub/limited.txt", "repo", exitInconclusive, "limits.txt"},
		{"repo/sub/limited.txt", "shared", exitOK, "torch   2.9.0"},
		{"-", "repo", exitOK, "torch   2.9.0"},
		{"repo/sub/requirements.txt", "nowhere", exitUsage, `--include-root "nowhere" is not a directory`},
	} {
		args := []string{"check", test.file, "--gpu", "L4", "--driver", "580.95.05"}
		if test.root != "" {
			args = append(args, "--include-root", test.root)
		}
		var out bytes.Buffer
		code := run(args, streams{strings.NewReader("-r base.txt\n"), &out, &out})
		if code != test.code || !strings.Contains(out.String(), test.says) {
			t.Errorf("%q: exit %d, want %d and %q:\n%s", args, code, test.code, test.says, out.String())
		}
	}
	var out bytes.Buffer
	if code := run([]string{"requires", "--env", base, "--include-root", base}, streams{strings.NewReader(""), &out, &out}); code !=
		exitUsage {
		t.Errorf("requires --env takes --include-root, which means nothing to it: exit %d, %s", code, out.String())
	}
}
