package hosttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// AsNobody runs the calling test as the user nobody, in a copy of this program that nobody may execute.
func AsNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "probe-nobody")
	Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	Must(t, err)
	program, err := os.ReadFile(self)
	Must(t, err)
	Must(t, os.WriteFile(filepath.Join(dir, "probe.test"), program, 0o755))
	if _, err := os.Stat("testdata"); err == nil {
		Must(t, os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS("testdata")))
	}
	Must(t, os.Chmod(dir, 0o755))
	cmd := exec.Command(filepath.Join(dir, "probe.test"), "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{"TMPDIR=" + filepath.Join(dir, "tmp"), "HOME=" + dir}
	Must(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o755))
	Must(t, os.Chown(filepath.Join(dir, "tmp"), nobody, nobody))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("--- PASS: %s/", t.Name())) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}
