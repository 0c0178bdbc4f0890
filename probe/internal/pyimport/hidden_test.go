package pyimport

import (
	"path/filepath"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"

	"github.com/google/go-cmp/cmp"
)

// TestHidden puts modules into a directory that comes first on the import path: one of the package's own, which is an
// extension module, and one of a required package.
func TestHidden(t *testing.T) {
	const site, first = "/" + hosttest.Site, "/srv/first"
	for _, c := range []struct {
		name string
		file string // in the first directory
		want []facts.Hindrance
	}{
		{"nothing", "other/__init__.py", nil},
		{"its own", "kernels/__init__.py", []facts.Hindrance{{Kind: facts.HindranceHidden, Of: "kernels-cu12 1.0", Path: first + "/kernels/__init__.py"}}},
		{"of what it requires", "parser.py", []facts.Hindrance{{Kind: facts.HindranceHidden, Of: "py-parser 2.0", Path: first + "/parser.py"}}},
		{"that another distribution of the name brought", "py_parser-3.0.dist-info/METADATA", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range map[string]string{
				site + "kernels.abi3.so": "x", site + "parser.py": "x", first + "/" + c.file: "Name: py-parser\nVersion: 3.0\n",
				site + "kernels_cu12-1.0.dist-info/METADATA": "Name: kernels-cu12\nVersion: 1.0\nRequires-Dist: py-parser\n",
				site + "kernels_cu12-1.0.dist-info/RECORD":   "kernels.abi3.so,sha256=x,1\n",
				site + "py_parser-2.0.dist-info/METADATA":    "Name: py-parser\nVersion: 2.0\n",
				site + "py_parser-2.0.dist-info/RECORD":      "parser.py,sha256=x,1\n",
			} {
				hosttest.Write(t, filepath.Join(root, name), text)
			}
			h := &host.Host{Root: root}
			s := &pyenv.Site{Dir: filepath.Clean(site), Path: []string{first, filepath.Clean(site)}}
			b := facts.Build{Name: "kernels-cu12", Version: "1.0", Path: s.Dir + "/kernels_cu12-1.0.dist-info"}
			record := pydist.ParseRecord([]byte("kernels.abi3.so,sha256=x,1\n"))
			CheckImport(s, h, &b, b.Path, record.Modules())
			if diff := cmp.Diff(c.want, b.Hindrances); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
