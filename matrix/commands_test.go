package matrix

import (
	"testing"

	"cudacompat/probe/facts"

	"github.com/google/go-cmp/cmp"
)

// TestCommandsNameTheirEnvironment: what is copied from a report installs where the finding was made, and no path can
// put words into a shell.
func TestCommandsNameTheirEnvironment(t *testing.T) {
	const pip, uv = "pip uninstall -y a && pip install b", "uv pip install b"
	for _, c := range []struct {
		env  facts.Environment
		want map[string]string
	}{
		{facts.Environment{}, map[string]string{"pip": pip, "uv": uv}},
		{facts.Environment{Path: "/opt/venv", Kind: "venv"}, map[string]string{
			"pip": "/opt/venv/bin/python -m pip uninstall -y a && /opt/venv/bin/python -m pip install b",
			"uv":  "uv pip install --python /opt/venv/bin/python b"}},
		{facts.Environment{Path: "/opt/venv", Kind: "venv", NoPip: true}, map[string]string{
			"uv": "uv pip install --python /opt/venv/bin/python b"}},
		{facts.Environment{Path: "/usr", Kind: "system"}, map[string]string{
			"pip": "/usr/bin/python3 -m pip uninstall -y a && /usr/bin/python3 -m pip install b",
			"uv":  "uv pip install --python /usr/bin/python3 b"}},
		{facts.Environment{Path: "/srv/lib", Kind: "target"}, map[string]string{
			"pip": "pip uninstall --target /srv/lib -y a && pip install --target /srv/lib b",
			"uv":  "uv pip install --target /srv/lib b"}},
		{facts.Environment{Path: "/opt/my env$2", Kind: "venv"}, map[string]string{
			"pip": "'/opt/my env$2/bin/python' -m pip uninstall -y a && '/opt/my env$2/bin/python' -m pip install b",
			"uv":  "uv pip install --python '/opt/my env$2/bin/python' b"}},
		{facts.Environment{Path: "/opt/a'; rm -rf ~; '", Kind: "venv"}, map[string]string{
			"pip": `'/opt/a'\''; rm -rf ~; '\''/bin/python' -m pip uninstall -y a && '/opt/a'\''; rm -rf ~; '\''/bin/python' -m pip install b`,
			"uv":  `uv pip install --python '/opt/a'\''; rm -rf ~; '\''/bin/python' b`}},
		{facts.Environment{Path: "/opt/a\x1b[2J", Kind: "venv"}, map[string]string{"pip": pip, "uv": uv}},
	} {
		f := Finding{Pins: []Pin{{Commands: map[string]string{"pip": pip, "uv": uv}}}}
		newEnvironment(Embedded(), &c.env).address(&f)
		if diff := cmp.Diff(c.want, f.Pins[0].Commands); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.env.Path, diff)
		}
	}
}

// TestManagedPython: where the distribution keeps pip out of its Python, the finding says so.
func TestManagedPython(t *testing.T) {
	e := facts.Environment{Path: "/usr", Kind: "system", Managed: "/usr/lib/python3.12/EXTERNALLY-MANAGED"}
	f := Finding{Pins: []Pin{{Commands: map[string]string{"pip": "pip install b"}}}}
	newEnvironment(Embedded(), &e).address(&f)
	if len(f.Do) != 1 {
		t.Errorf("nothing is said of PEP 668: %q", f.Do)
	}
}
