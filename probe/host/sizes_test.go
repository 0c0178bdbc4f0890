package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSizesIn(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "site")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.py": "abc", "empty.py": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link.py": "/site/a.py", "broken.py": "/none"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"a.py", "empty.py", "link.py", "broken.py", "gone.py", "sub"}
	want := []int64{3, 0, 3, SizeGone, SizeGone, SizeUnknown}
	if diff := cmp.Diff(want, (&Host{Root: root}).SizesIn("/site", names)); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{SizeGone}, (&Host{Root: root}).SizesIn("/none", []string{"a.py"})); diff != "" {
		t.Errorf("a directory that is not there (-want +got):\n%s", diff)
	}
}
