package matrix

import (
	"testing"

	"cudacompat/pin"
	"cudacompat/probe/facts"

	"github.com/google/go-cmp/cmp"
)

// TestCommandsNameTheirEnvironment: what is copied from a report installs where the finding was made, and no path can
// put words into a shell.
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
			"pip": "pip uninstall --target /srv/lib -y a && pip install --target /srv/lib b",
			"uv":  "uv pip uninstall --target /srv/lib a && uv pip install --target /srv/lib b"}},
		{facts.Environment{Path: "/opt/my env$2", Kind: "venv"}, map[string]string{
			"pip": "'/opt/my env$2/bin/python' -m pip uninstall -y a && '/opt/my env$2/bin/python' -m pip install b",
			"uv":  "uv pip uninstall --python '/opt/my env$2/bin/python' a && uv pip install --python '/opt/my env$2/bin/python' b"}},
		{facts.Environment{Path: "/opt/a'; rm -rf ~; '", Kind: "venv"}, map[string]string{
			"pip": `"/opt/a'; rm -rf ~; '/bin/python" -m pip uninstall -y a && "/opt/a'; rm -rf ~; '/bin/python" -m pip install b`,
			"uv":  `uv pip uninstall --python "/opt/a'; rm -rf ~; '/bin/python" a && uv pip install --python "/opt/a'; rm -rf ~; '/bin/python" b`}},
		{facts.Environment{Path: "/opt/a\x1b[2J", Kind: "venv"}, map[string]string{"pip": pip, "uv": uv}},
	} {
		got := newEnvironment(Embedded(), &c.env).install(pin.Install{Remove: []string{"a"}, Packages: []string{"b"}})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.env.Path, diff)
		}
	}
}

// TestManagedPython: where the distribution keeps pip out of its Python, the finding says so.
func TestManagedPython(t *testing.T) {
	e := facts.Environment{Path: "/usr", Kind: "system", Managed: "/usr/lib/python3.12/EXTERNALLY-MANAGED"}
	r := found(Finding{Pins: []Pin{{Commands: map[string]string{"pip": "pip install b"}}}})
	if newEnvironment(Embedded(), &e).unmanaged(r); len(r[0].finding.Steps) != 1 {
		t.Errorf("nothing is said of PEP 668: %q", r[0].finding.Steps)
	}
}
