package pyimport

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pyenv"
)

// TestAltered compares the libraries of two wheels that own one path with their RECORDs. The hashes are sha256sum's, in
// the form of RECORD (PEP 376: base64 without padding).
func TestAltered(t *testing.T) {
	const dir = hosttest.Site + "nvidia/nccl/lib/libnccl.so.2"
	record := func(size, hash string) string {
		return "nvidia/nccl/lib/libnccl.so.2,sha256=" + hash + "," + size + "\n"
	}
	const ofA = "Yb5VqOL2tOFyM4vd8YTW2-4pyYhT4KBIXs7n8nua8LQ"
	for _, c := range []struct{ name, record, file, want string }{
		{"own", record("4", ofA), "aaaa", ""},
		{"hash", record("4", "A"), "aaaa", "has another sha256 than RECORD says"},
		{"size", record("5", "A"), "aaaa", "has 4 bytes, RECORD says 5"},
		{"gone", record("4", "A"), "", "is gone"},
		{"no-record", "", "aaaa", ""},
		{"other-files", "nvidia/nccl/include/nccl.h,sha256=x,9\nnvidia_nccl_cu12-2.27.3.dist-info/RECORD,,\n", "aaaa",
			""},
		{"large-is-not-hashed", record("2097152", "A"), strings.Repeat("a", 2<<20), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			if c.file != "" {
				hosttest.Write(t, filepath.Join(root, dir), c.file)
			} else if err := os.MkdirAll(filepath.Join(root, hosttest.Site), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, wheel := range []string{"nvidia_nccl_cu12-2.27.3", "nvidia_nccl_cu13-2.27.7"} {
				hosttest.Write(t, filepath.Join(root, hosttest.Site+wheel+".dist-info/METADATA"), "Version: 1\n")
			}
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"nvidia_nccl_cu12-2.27.3.dist-info/RECORD"), c.record)
			hosttest.Write(t, filepath.Join(root, hosttest.Site+"nvidia_nccl_cu13-2.27.7.dist-info/RECORD"), record("9", "B"))
			h, failed := &host.Host{Root: root}, host.Errors{}
			s := &pyenv.Site{Dir: "/" + filepath.Clean(hosttest.Site)}
			s.Dists = s.Index(h).Companions(s.Dir, &failed)
			shared := MarkReplaced(s, h)
			if both := strings.Contains(c.record, "libnccl"); len(shared) != map[bool]int{true: 1}[both] ||
				both && (shared[0].Library != "nccl" || len(shared[0].Packages) != 2) {
				t.Errorf("shared: %+v", shared)
			}
			p := s.Dist("nvidia-nccl-cu12")
			if p == nil || !strings.Contains(p.Altered, c.want) || p.Overwritten != (c.want != "") || len(failed) > 0 {
				t.Errorf("%+v, want %q (%v)", p, c.want, failed)
			}
		})
	}
}
