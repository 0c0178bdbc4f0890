package hosttest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// fuseInside marks the process that InMountNamespace has started.
const fuseInside = "HOSTTEST_MOUNT_NAMESPACE"

// InMountNamespace runs the rest of a test in a process with its own mount namespace, in which it may mount FUSE file
// systems. It returns false in the process that waits for the other one, and skips the test without FUSE or such a
// namespace.
func InMountNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(fuseInside) == t.Name() {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		t.Skip("no FUSE: ", err)
	} else {
		f.Close()
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v=true")
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), fuseInside+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	switch {
	case cmd.ProcessState == nil, errors.Is(err, syscall.EPERM):
		t.Skip("no mount namespace: ", err)
	case bytes.Contains(out, []byte("--- SKIP")):
		t.Skipf("%s", out)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// FUSE is a mounted FUSE file system that shows a directory, read-only, and does not answer about some of its files.
type FUSE struct {
	device int
	mount  string
	stalls func(path string) bool

	mu    sync.Mutex
	paths []string // by node, from 1 on
	nodes map[string]uint64
}

// MountFUSE shows a directory at a mount point. stalls is asked about the path of each file in the directory, "/" for
// the directory itself. The test ends the file system.
func MountFUSE(t *testing.T, dir, mount string, stalls func(path string) bool) {
	t.Helper()
	device, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no FUSE: ", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", device)
	if err := unix.Mount("test", mount, "fuse.test", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		syscall.Close(device)
		t.Skip("no FUSE can be mounted: ", err)
	}
	f := &FUSE{device: device, mount: mount, stalls: stalls, paths: []string{"", dir}, nodes: map[string]uint64{dir: 1}}
	go f.serve(dir)
	t.Cleanup(func() { // MNT_FORCE ends the calls that wait; nothing else does, not even the end of their process
		if err := unix.Unmount(mount, unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// Requests of the protocol (linux/fuse.h).
const (
	fuseLookup, fuseForget, fuseGetattr, fuseReadlink, fuseOpen, fuseRead         = 1, 2, 3, 5, 14, 15
	fuseStatfs, fuseRelease, fuseFlush, fuseInit, fuseOpendir, fuseReaddir        = 17, 18, 25, 26, 27, 28
	fuseReleasedir, fuseInterrupt, fuseBatchForget, fuseHeader                    = 29, 36, 42, 40
	fuseMajor, fuseMinor, fuseLargestRead, fuseBlock                       uint32 = 7, 31, 1 << 16, 4096
)

// fuseParallel lets the kernel ask about a directory while it waits for another answer about it.
const fuseParallel uint32 = 1 << 18

// request is the header of a FUSE request: its length, operation, number and node.
type request struct {
	Length, Op   uint32
	Unique, Node uint64
	UID, GID     uint32
	PID, _       uint32
}

func (f *FUSE) serve(dir string) {
	block := make([]byte, 1<<18)
	for {
		n, err := syscall.Read(f.device, block)
		if err != nil {
			if errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.ENOENT) {
				continue
			}
			syscall.Close(f.device)
			return
		}
		var r request
		_, _ = binary.Decode(block[:n], binary.NativeEndian, &r)
		body := bytes.Clone(block[fuseHeader:n])
		go func() {
			data, err := f.answer(dir, r, body)
			if err == errSilent {
				return
			}
			code := int32(0)
			if err != nil {
				code, data = -int32(codeOf(err)), nil
			}
			reply := packed(uint32(16+len(data)), code, r.Unique)
			_, _ = syscall.Write(f.device, append(reply, data...))
		}()
	}
}

// errSilent is the error of a request that gets no answer.
var errSilent = errors.New("no answer")

func codeOf(err error) syscall.Errno {
	code := syscall.EIO
	errors.As(err, &code)
	return code
}

// packed lays out values as the kernel does.
func packed(values ...any) []byte {
	var b []byte
	for _, v := range values {
		b, _ = binary.Append(b, binary.NativeEndian, v)
	}
	return b
}

func (f *FUSE) path(node uint64) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paths[node]
}

func (f *FUSE) node(path string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes[path] == 0 {
		f.nodes[path] = uint64(len(f.paths))
		f.paths = append(f.paths, path)
	}
	return f.nodes[path]
}

func (f *FUSE) answer(dir string, r request, body []byte) ([]byte, error) {
	switch r.Op {
	case fuseInit:
		return packed(fuseMajor, fuseMinor, fuseLargestRead, fuseParallel, uint16(12), uint16(12), fuseLargestRead, uint32(1), [9]uint32{})[:64], nil
	case fuseForget, fuseBatchForget, fuseInterrupt:
		return nil, errSilent
	case fuseFlush, fuseRelease, fuseReleasedir:
		return nil, nil
	case fuseStatfs:
		return packed([5]uint64{1, 1, 1, 1, 1}, fuseBlock, uint32(255), fuseBlock, [7]uint32{}), nil
	}
	path := f.path(r.Node)
	if r.Op == fuseLookup {
		path = filepath.Join(path, string(bytes.TrimRight(body, "\x00")))
	}
	below, _ := filepath.Rel(dir, path)
	if f.stalls(filepath.Join("/", below)) {
		return nil, errSilent
	}
	switch r.Op {
	case fuseLookup:
		attributes, err := f.attributes(path)
		return append(packed(f.node(path), [3]uint64{}, [2]uint32{}), attributes...), err
	case fuseGetattr:
		attributes, err := f.attributes(path)
		return append(packed([2]uint64{}), attributes...), err
	case fuseReadlink:
		target, err := os.Readlink(path)
		return []byte(target), err
	case fuseOpen, fuseOpendir:
		return packed(r.Node, [2]uint32{1, 0}), nil
	case fuseRead, fuseReaddir:
		var in struct {
			_, Offset uint64
			Size, _   uint32
		}
		_, _ = binary.Decode(body, binary.NativeEndian, &in)
		if r.Op == fuseReaddir {
			return f.list(path, in.Offset, int(in.Size))
		}
		data, err := os.ReadFile(path)
		data = data[min(in.Offset, uint64(len(data))):]
		return data[:min(int(in.Size), len(data))], err
	}
	return nil, syscall.ENOSYS
}

func (f *FUSE) attributes(path string) ([]byte, error) {
	var s syscall.Stat_t
	if err := syscall.Lstat(path, &s); err != nil {
		return nil, err
	}
	return packed(f.node(path), uint64(s.Size), uint64(s.Blocks), [3]uint64{}, [3]uint32{}, s.Mode, uint32(s.Nlink), [3]uint32{}, fuseBlock, uint32(0)), nil
}

// list returns as many entries of a directory as the kernel has room for.
func (f *FUSE) list(path string, from uint64, room int) ([]byte, error) {
	entries, err := os.ReadDir(path)
	var all []byte
	for i, e := range entries {
		if uint64(i) < from {
			continue
		}
		one := append(packed(f.node(filepath.Join(path, e.Name())), uint64(i+1), uint32(len(e.Name())), uint32(0)), e.Name()...)
		one = append(one, make([]byte, -len(one)&7)...)
		if len(all)+len(one) > room {
			break
		}
		all = append(all, one...)
	}
	return all, err
}
