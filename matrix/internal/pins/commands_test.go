package pins

import (
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
	"cudacompat/probe/facts"

	"github.com/google/go-cmp/cmp"
)

// TestCommandsNameTheirEnvironment checks that a command copied from a report installs into the environment of the
// finding, and that no path can inject words into a shell.
func TestCommandsNameTheirEnvironment(t *testing.T) {
	const pip, uv = "pip uninstall -y a && pip install b", "uv pip uninstall a && uv pip install b"
	for _, c := range []struct {
		env  facts.Environment
		want map[string]string
	}{
		{facts.Environment{}, map[string]string{"pip": pip, "uv": uv}},
		{facts.Environment{Path: "/opt/venv", Kind: "venv"}, map[string]string{
			"pip": "/opt/venv/bin/python -m pip uninstall -y a && /opt/venv/bin/python -m pip install b",
			"uv":  "uv pip uninstall --python /opt/venv/bin/python a && uv pip install --python /opt/venv/bin/python b"}},
		{facts.Environment{Path: "/opt/venv", Kind: "venv", NoPip: true}, map[string]string{
			"uv": "uv pip uninstall --python /opt/venv/bin/python a && uv pip install --python /opt/venv/bin/python b"}},
		{facts.Environment{Path: "/usr", Kind: "system"}, map[string]string{
			"pip": "/usr/bin/python3 -m pip uninstall -y a && /usr/bin/python3 -m pip install b",
			"uv":  "uv pip uninstall --python /usr/bin/python3 a && uv pip install --python /usr/bin/python3 b"}},
		{facts.Environment{Path: "/srv/lib", Kind: "target"}, map[string]string{
			"pip": "pip install --target /srv/lib --upgrade b", // pip removes nothing from a directory
			"uv":  "uv pip uninstall --target /srv/lib a && uv pip install --target /srv/lib b"}},
		{facts.Environment{Path: "/opt/my env$2", Kind: "venv"}, map[string]string{
			"pip": "'/opt/my env$2/bin/python' -m pip uninstall -y a && '/opt/my env$2/bin/python' -m pip install b",
			"uv":  "uv pip uninstall --python '/opt/my env$2/bin/python' a && uv pip install --python '/opt/my env$2/bin/python' b"}},
		{facts.Environment{Path: "/opt/a'; rm -rf ~; '", Kind: "venv"}, map[string]string{
			"pip": `"/opt/a'; rm -rf ~; '/bin/python" -m pip uninstall -y a && "/opt/a'; rm -rf ~; '/bin/python" -m pip install b`,
			"uv":  `uv pip uninstall --python "/opt/a'; rm -rf ~; '/bin/python" a && uv pip install --python "/opt/a'; rm -rf ~; '/bin/python" b`}},
		{facts.Environment{Path: "/opt/a\x1b[2J", Kind: "venv"}, map[string]string{"pip": pip, "uv": uv}},
	} {
		got := Install(model.NewEnvironment(tables.Embedded(), &c.env), pin.Install{Remove: []string{"a"}, Packages: []string{"b"}})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.env.Path, diff)
		}
	}
}

// An installer skips a release that is installed, so the pin of a broken one must rewrite its files.
func TestPinOfTheSameReleaseWritesItAgain(t *testing.T) {
	env := model.NewEnvironment(tables.Embedded(), &facts.Environment{})
	for installed, want := range map[string]bool{"2.9.0+cu130": true, "2.8.0+cu128": false} {
		b := &model.Build{Build: &facts.Build{Name: "torch", Version: installed, Path: "/v/torch"}, Env: env}
		got := Commands(b, version.ParseOrZero("13.0"), []pin.Package{{Package: "torch", Version: "2.9.0+cu130"}}, "")["uv"]
		if again := strings.Contains(got, "--reinstall"); again != want {
			t.Errorf("over %s: %q", installed, got)
		}
	}
}
