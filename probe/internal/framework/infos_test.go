package framework

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// gpuSite returns an environment with a distribution "boost" whose library has GPU code, and the library's size.
func gpuSite(t *testing.T) (root string, size int64) {
	root = t.TempDir()
	hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + "boost/lib/libboost.so", Source: fatSource(80, 90)})
	info, err := os.Stat(filepath.Join(root, hosttest.Site+"boost/lib/libboost.so"))
	hosttest.Must(t, err)
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"boost/__init__.py"), "")
	hosttest.Write(t, filepath.Join(root, hosttest.Site+"boost/VERSION"), "3.4.1\n")
	return root, info.Size()
}

// writeInfo writes the metadata of a distribution that owns boost's library, of some size.
func writeInfo(t *testing.T, root, dir, name, version string, size int64) {
	t.Helper()
	hosttest.Write(t, filepath.Join(root, hosttest.Site+dir, "METADATA"), "Name: "+name+"\nVersion: "+version+"\n")
	hosttest.Write(t, filepath.Join(root, hosttest.Site+dir, "RECORD"),
		fmt.Sprintf("boost/__init__.py,sha256=x,0\nboost/lib/libboost.so,sha256=x,%d\n", size))
}

// buildsOf returns the names and versions of the environment's builds, and what hinders them.
func buildsOf(t *testing.T, root string) []string {
	t.Helper()
	found, err := Read(&host.Host{Root: root, Rest: true}, []string{"/opt/venv"})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, b := range found.Environments[0].Builds {
		text := b.Name + " " + b.Version
		for _, h := range b.Hindrances {
			text += fmt.Sprintf(", %s %s by %q", h.Kind, filepath.Base(h.Path), h.By)
		}
		list = append(list, text)
	}
	return list
}

// TestInfos checks that of two metadata directories the one that matches the files counts, that a copied one counts by
// its METADATA, that pip's leftovers belong to nobody, and that a package without metadata is recognised by its
// directory.
func TestInfos(t *testing.T) {
	root, size := gpuSite(t)
	check := func(name string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, buildsOf(t, root)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	check("no metadata", "boost 3.4.1")
	writeInfo(t, root, "boost-3.4.1.dist-info", "boost", "3.4.1", size)
	check("healthy", "boost 3.4.1")
	writeInfo(t, root, "boost-2.1.0.dist-info", "boost", "2.1.0", 5<<20)
	writeInfo(t, root, "boost-9.0.dist-info", "boost", "9.0", 6<<20)
	writeInfo(t, root, "~oost-3.4.0.dist-info", "boost", "3.4.0", size)
	check("leftovers of other releases", "boost 3.4.1")
	hosttest.Must(t, os.RemoveAll(filepath.Join(root, hosttest.Site+"boost-9.0.dist-info")))
	writeInfo(t, root, "boost-2.1.0.dist-info", "boost", "3.4.1", size)
	check("a copy of the metadata", "boost 3.4.1")
	hosttest.Must(t, os.RemoveAll(filepath.Join(root, hosttest.Site+"boost/__init__.py")))
	check("no module", `boost 3.4.1, gone __init__.py by ""`)
}

// TestOverwritten checks a library of two distributions that has the size in the other's RECORD.
func TestOverwritten(t *testing.T) {
	root, size := gpuSite(t)
	writeInfo(t, root, "boost_gpu-3.4.1.dist-info", "boost-gpu", "3.4.1", 5<<20)
	writeInfo(t, root, "boost-3.4.1.dist-info", "boost", "3.4.1", size)
	want := []string{"boost 3.4.1", `boost-gpu 3.4.1, overwritten libboost.so by "boost 3.4.1"`}
	if diff := cmp.Diff(want, buildsOf(t, root)); diff != "" {
		t.Errorf("CPU over GPU (-want +got):\n%s", diff)
	}
	writeInfo(t, root, "boost-3.4.1.dist-info", "boost", "3.4.1", 6<<20)
	for _, b := range buildsOf(t, root) {
		if b != "boost 3.4.1" && b != "boost-gpu 3.4.1" {
			t.Errorf("a file of neither: %s", b)
		}
	}
}

// TestHidden checks that a distribution is not judged if an earlier directory of the import path has it, too.
func TestHidden(t *testing.T) {
	root, size := gpuSite(t)
	writeInfo(t, root, "boost-3.4.1.dist-info", "boost", "3.4.1", size)
	hosttest.Write(t, filepath.Join(root, "srv/front/boost-1.0.dist-info/METADATA"), "Name: boost\nVersion: 1.0\n")
	hosttest.Write(t, filepath.Join(root, "srv/front/boost-1.0.dist-info/RECORD"), "boost/__init__.py,sha256=x,0\n")
	hosttest.Write(t, filepath.Join(root, "srv/front/boost/__init__.py"), "")
	found, err := Read(&host.Host{Root: root, Env: map[string]string{"PYTHONPATH": "/srv/front"}}, []string{"/opt/venv"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]facts.Build(nil), found.Environments[0].Builds); diff != "" {
		t.Errorf("hidden by a plain one (-want +got):\n%s", diff)
	}
}
