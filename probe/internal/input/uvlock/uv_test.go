package uvlock

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
)

// whole makes the comparisons with other tools long; without it they are a sample.
var whole = flag.Bool("whole", false, "compare with pip and uv at length")

// TestUVLockAgainstUV compares locks with what uv itself would install from them, for a seed: extras and groups,
// conflicting ones, the groups that a project installs by default, and markers.
func TestUVLockAgainstUV(t *testing.T) {
	if _, err := exec.LookPath("uv"); err != nil {
		t.Skip("no uv here")
	}
	count := 12
	if *whole {
		count = 400
	}
	random := rand.New(rand.NewPCG(9, 10))
	for range count {
		lock, project := randomLock(random)
		dir := t.TempDir()
		for name, text := range map[string]string{"uv.lock": lock, "pyproject.toml": project} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var args []string
		for _, option := range []string{"--extra a", "--extra b", "--group g", "--no-default-groups", "--no-dev", "--all-extras"} {
			if random.IntN(3) == 0 {
				args = append(args, strings.Fields(option)...)
			}
		}
		export := exec.Command("uv", append([]string{"export", "--frozen", "--offline", "--no-hashes", "--no-header",
			"--no-annotate", "--no-emit-project", "--directory", dir}, args...)...)
		export.Env = append(os.Environ(), "UV_CACHE_DIR="+t.TempDir(), "UV_NO_CONFIG=1", "UV_PYTHON_DOWNLOADS=never")
		out, err := export.Output()
		if err != nil {
			continue // extras in conflict
		}
		f := &requirements.File{}
		f.ReadLines(string(out))
		on := request.Host{Machine: "x86_64", Python: "3.12", Full: "3.12.1", MarkerAnswers: map[string]bool{}}
		var want, got []string
		for _, p := range f.Named {
			if on.Takes(&p) {
				want = append(want, p.Name+" "+p.Version)
			}
		}
		l, err := Parse([]byte(lock), func(string) ([]byte, error) { return []byte(project), nil })
		if err != nil {
			t.Fatal(err)
		}
		c := l.Selection(args)
		installed := l.Installed(c)
		for _, p := range l.List(c, func(i int) bool { return installed[i] }) {
			if p.Needed(on) {
				got = append(got, p.Name+" "+p.Version)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%v of\n%s\n%s\nwe have %q,\nuv       %q", args, project, lock, got, want)
		}
	}
}

// randomLock returns a lock as uv writes it, and the project's file.
func randomLock(random *rand.Rand) (lock, project string) {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	conflict := random.IntN(2) == 0
	need := func(name, version, marker string) string {
		text := fmt.Sprintf("{ name = %q", name)
		if version != "" {
			text += fmt.Sprintf(", version = %q, source = { registry = \"https://x.example/simple\" }", version)
		}
		if marker != "" {
			text += fmt.Sprintf(", marker = %q", marker)
		}
		return "    " + text + " },\n"
	}
	marker := func() string {
		return pick("", "", "sys_platform == 'linux'", "sys_platform == 'darwin'", "platform_machine == 'aarch64'",
			"python_full_version >= '3.12'", "python_full_version < '3.11' or sys_platform != 'win32'")
	}
	of := func(part, version string) string {
		only := map[string]string{"a": "extra == 'extra-3-app-a'", "b": "extra == 'extra-3-app-b'",
			"": "extra != 'extra-3-app-a' and extra != 'extra-3-app-b'"}[part]
		if !conflict {
			return need("torch", "2.0.0", marker())
		}
		return need("torch", version, only)
	}
	var b strings.Builder
	b.WriteString("version = 1\nrevision = 3\nrequires-python = \">=3.10\"\n")
	if conflict {
		b.WriteString("conflicts = [[\n    { package = \"app\", extra = \"a\" },\n    { package = \"app\", extra = \"b\" },\n]]\n")
	}
	b.WriteString("\n[[package]]\nname = \"app\"\nversion = \"1\"\nsource = { virtual = \".\" }\ndependencies = [\n")
	b.WriteString(need("numpy", "", marker()) + of("", "2.0.0"))
	b.WriteString("]\n\n[package.optional-dependencies]\na = [\n" + of("a", "2.1.0") + need("vllm", "", marker()) + "]\nb = [\n" +
		of("b", "2.2.0") + "]\n\n[package.dev-dependencies]\ndev = [\n" + need("pytest", "", marker()) + "]\ng = [\n" +
		need("xformers", "", marker()) + "]\n")
	versions := []string{"2.0.0"}
	if conflict {
		versions = []string{"2.0.0", "2.1.0", "2.2.0"}
	}
	pack := func(name, version, needs string) {
		fmt.Fprintf(&b, "\n[[package]]\nname = %q\nversion = %q\nsource = { registry = \"https://x.example/simple\" }\n", name, version)
		if needs != "" {
			b.WriteString("dependencies = [\n" + needs + "]\n")
		}
		fmt.Fprintf(&b, "wheels = [\n    { url = \"https://x.example/%s-%s-py3-none-any.whl\", hash = \"sha256:%s\" },\n]\n",
			name, version, strings.Repeat("ab", 32))
	}
	pack("numpy", "1.0", "")
	pack("pytest", "8.0", "")
	for _, version := range versions {
		pack("torch", version, need("triton", "", marker()))
	}
	pack("triton", "3.0", "")
	pack("vllm", "0.9", need("numpy", "", ""))
	pack("xformers", "0.1", "")
	project = "[project]\nname = \"app\"\nversion = \"1\"\nrequires-python = \">=3.10\"\n" +
		"dependencies = [\"numpy\", \"torch\"]\n[project.optional-dependencies]\na = [\"torch\", \"vllm\"]\nb = [\"torch\"]\n" +
		"[dependency-groups]\ndev = [\"pytest\"]\ng = [\"xformers\"]\n"
	if random.IntN(2) == 0 {
		project += "[tool.uv]\ndefault-groups = " + pick("[]", `["g"]`, `["dev", "g"]`, `"all"`) + "\n"
	}
	return b.String(), project
}
