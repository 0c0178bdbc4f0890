package framework

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pyenv"

	"github.com/google/go-cmp/cmp"
)

// TestWhatIsNotRead checks that an unreadable file, or one beyond a limit, is a place that was not looked at.
func TestWhatIsNotRead(t *testing.T) {
	const info = "flash_attn-2.8.3.dist-info/"
	directory := func(name string) func(*testing.T, string) {
		return func(t *testing.T, site string) {
			hosttest.Must(t, os.RemoveAll(site+name))
			hosttest.Must(t, os.Mkdir(site+name, 0o755))
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, site string)
		want  string
	}{
		{"sound", func(*testing.T, string) {}, ""},
		{"RECORD", directory(info + "RECORD"), "RECORD: not a regular file"},
		{"library", directory("flash_attn_2_cuda.so"), "flash_attn_2_cuda.so: not a regular file"},
		{"path-files", func(t *testing.T, site string) {
			for i := range pyenv.MaxPathFiles + 1 {
				hosttest.Write(t, fmt.Sprintf("%s%d.pth", site, i), "/srv/source\n")
			}
		}, "only the first 64 of 65 .pth files were read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			site := filepath.Join(root, hosttest.Site) + "/"
			hosttest.Write(t, site+info+"METADATA", "Name: flash-attn\nVersion: 2.8.3\n")
			hosttest.Write(t, site+info+"RECORD", "flash_attn_2_cuda.so,sha256=x,20000\n")
			hosttest.Compile(t, root, hosttest.Library{Name: hosttest.Site + "flash_attn_2_cuda.so",
				Source: "char big[20000] = {1};\n"})
			hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
			c.spoil(t, site)
			found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
			var said []string
			for _, u := range found.Unread {
				if u.Kind == facts.UnreadNeeded {
					said = append(said, u.Place+": "+u.Reason)
				}
			}
			if text := strings.Join(said, "; "); c.want == "" && text != "" || !strings.Contains(text, c.want) {
				t.Errorf("not looked at: %q, want %q", text, c.want)
			}
		})
	}
}

// TestSiteThatIsMounted checks packages on a file system that is mounted only when the machine runs. In its tree they
// count as not looked at; on the running machine there is nothing to import.
func TestSiteThatIsMounted(t *testing.T) {
	root := t.TempDir()
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
	hosttest.Must(t, os.MkdirAll(filepath.Join(root, hosttest.Site, ".."), 0o755))
	hosttest.Must(t, os.Symlink("/mnt/efs/site", filepath.Join(root, hosttest.Site)))
	for rest, want := range map[bool][]facts.Unread{false: nil, true: {{Kind: facts.UnreadNeeded,
		Place:  "/opt/venv/lib/python3.12/site-packages",
		Reason: "it leads to /mnt/efs/site, which is not in this tree"}}} {
		found, err := Read(&host.Host{Root: root, Rest: rest}, nil)
		if diff := cmp.Diff(want, found.Unread); diff != "" {
			t.Errorf("at rest %v: %v, not looked at (-want +got):\n%s", rest, err, diff)
		}
	}
}

// TestDamagedLibrary checks that a file named like a GPU library that is no library still belongs to a build.
func TestDamagedLibrary(t *testing.T) {
	root := t.TempDir()
	site := filepath.Join(root, hosttest.Site) + "/"
	hosttest.Write(t, site+"flash_attn-2.8.3.dist-info/METADATA", "Name: flash-attn\nVersion: 2.8.3\n")
	hosttest.Write(t, site+"flash_attn-2.8.3.dist-info/RECORD", "flash_attn_2_cuda.so,sha256=x,20000\n")
	hosttest.Write(t, site+"flash_attn_2_cuda.so", "junk")
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
	found, _ := Read(&host.Host{Root: root}, []string{"/opt/venv"})
	if builds := found.Environments[0].Builds; len(builds) != 1 || builds[0].Damaged == "" {
		t.Errorf("builds are %+v", builds)
	}
}

// TestUnlistableIsNotEmpty checks that a directory of an environment that cannot be listed is named, whatever the
// reason, and that the environment does not count as empty.
func TestUnlistableIsNotEmpty(t *testing.T) {
	root := t.TempDir()
	site := filepath.Join(root, hosttest.Site) + "/"
	hosttest.Write(t, site+"torch-2.9.0.dist-info/METADATA", "Name: torch\nVersion: 2.9.0\n")
	hosttest.Write(t, filepath.Join(root, "opt/venv/pyvenv.cfg"), "version = 3.12.3\n")
	hosttest.Must(t, os.MkdirAll(filepath.Join(root, "opt/vendor"), 0o755))
	for _, c := range []struct {
		place string
		code  syscall.Errno
		env   map[string]string
		named []string
		kind  string
	}{
		{"/opt/venv/lib", syscall.EACCES, nil, []string{"/opt/venv"}, facts.UnreadNeeded},
		{"/opt/venv/lib", syscall.EACCES, map[string]string{"VIRTUAL_ENV": "/opt/venv"}, nil, facts.UnreadNeeded},
		{"/opt/venv", syscall.EACCES, map[string]string{"VIRTUAL_ENV": "/opt/venv"}, nil, facts.UnreadNeeded},
		{"/opt/venv/lib/python3.12", syscall.EIO, map[string]string{"VIRTUAL_ENV": "/opt/venv"}, nil, facts.UnreadNeeded},
		{"/opt", syscall.EIO, map[string]string{}, nil, facts.UnreadNeeded},
		{"/opt", syscall.EACCES, map[string]string{}, nil, facts.UnreadNeeded},          // closed on no sound machine
		{"/opt/vendor", syscall.EACCES, map[string]string{}, nil, facts.UnreadClosed},   // what this user cannot read, this user cannot import
		{"/opt/venv/lib", syscall.EACCES, map[string]string{}, nil, facts.UnreadClosed}, // the same
		{"/opt", syscall.EACCES, nil, nil, facts.UnreadNeeded},                          // at rest
	} {
		h := (&host.Host{Root: root, Env: c.env, Rest: c.env == nil && c.named == nil}).WithFaults(func(_, name string) error {
			if name == c.place || strings.HasPrefix(name, c.place+"/") && c.place != "/opt" {
				return c.code
			}
			return nil
		})
		found, _ := Read(h, c.named)
		if !slices.ContainsFunc(found.Unread, func(u facts.Unread) bool {
			return u.Kind == c.kind && u.Probe == "python" && strings.HasPrefix(u.Place, c.place) && u.Reason == c.code.Error()
		}) {
			t.Errorf("%s: %v of %v, named %q: not looked at: %+v", c.place, c.code, c.env, c.named, found.Unread)
		}
	}
}
