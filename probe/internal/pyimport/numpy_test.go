package pyimport

import (
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pyenv"
)

// TestOlderNumPy checks that JAX 0.12 with NumPy 1.26 fails with "Encountered an error while initializing the
// extension".
func TestOlderNumPy(t *testing.T) {
	for _, c := range []struct{ name, have, requires, wheel, want string }{
		{"older major", "1.26.4", "numpy>=2.0", "Tag: cp312-cp312-linux_x86_64\n", "numpy 1.26.4"},
		{"older minor", "2.0.1", "numpy>=2.1", "Tag: cp312-cp312-linux_x86_64\n", ""},
		{"nothing compiled", "1.26.4", "numpy>=2.0", "Root-Is-Purelib: true\nTag: py3-none-any\n", ""},
		{"met", "2.3.0", "numpy>=2.0", "Tag: cp312-cp312-linux_x86_64\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range map[string]string{
				"jax-0.12.dist-info/METADATA":    "Name: jax\nVersion: 0.12\nRequires-Dist: jaxlib\n",
				"jax-0.12.dist-info/RECORD":      "jax/__init__.py,sha256=x,2\n",
				"jaxlib-0.12.dist-info/METADATA": "Name: jaxlib\nVersion: 0.12\nRequires-Dist: " + c.requires + "\n",
				"jaxlib-0.12.dist-info/WHEEL":    c.wheel, "jaxlib-0.12.dist-info/RECORD": "jaxlib/__init__.py,sha256=x,2\n", "jaxlib/__init__.py": "#\n",
				"numpy-" + c.have + ".dist-info/METADATA": "Name: numpy\nVersion: " + c.have + "\n",
				"numpy-" + c.have + ".dist-info/RECORD":   "numpy/__init__.py,sha256=x,2\n", "numpy/__init__.py": "#\n",
			} {
				hosttest.Write(t, filepath.Join(root, hosttest.Site+name), text)
			}
			s := &pyenv.Site{Dir: "/" + strings.TrimSuffix(hosttest.Site, "/"), Python: "3.12.3"}
			s.Path = []string{s.Dir}
			b := facts.Build{Name: "jax", Version: "0.12", Path: s.Dir + "/jaxlib"}
			TraceSources(s, &host.Host{Root: root}, &b)
			got := ""
			for _, hindrance := range b.Hindrances {
				got = hindrance.Of
			}
			if got != c.want {
				t.Errorf("%+v, want %q", b.Hindrances, c.want)
			}
		})
	}
}
