package nvml

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
)

// holder is one process that has memory of a GPU. The child writes it as [gpu, pid, bytes]: a machine can have tens of
// thousands.
type holder struct {
	GPU   int // place in the answer's list
	PID   int
	Bytes uint64
}

// MarshalJSON writes the three numbers.
func (o holder) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%d,%d,%d]", o.GPU, o.PID, o.Bytes), nil
}

// UnmarshalJSON reads the three numbers.
func (o *holder) UnmarshalJSON(data []byte) error {
	var n [3]uint64
	err := json.Unmarshal(data, &n)
	o.GPU, o.PID, o.Bytes = int(n[0]), int(n[1]), n[2]
	return err
}

// Place computes how much of each GPU's memory this container or job uses itself. NVML may report process ids of other
// namespaces, so an id by itself does not prove that a process is somebody else's.
func (a *Answer) Place(h *host.Host) {
	lookup := sync.OnceValue(func() func(int) bool { return a.mine(h) }) // an idle machine's processes need no look
	for i, gpu := range a.GPUs {
		if gpu.Memory == nil || gpu.Memory.Used == 0 {
			continue
		}
		gpu.Memory.Here = -1
		mine := lookup()
		if mine == nil {
			continue
		}
		gpu.Memory.Here = 0
		for _, holder := range a.Holders {
			if holder.GPU == i && mine(holder.PID) {
				gpu.Memory.Here += int64(holder.Bytes)
			}
		}
	}
}

// mine returns a function that recognises the processes of this container or job. It returns nil if that is impossible,
// and on a host outside any job, where nothing belongs to others.
func (a *Answer) mine(h *host.Host) func(pid int) bool {
	if h.ContainerKind() != "" {
		return a.inContainer(h)
	}
	own := jobGroup(h, "self")
	if own == "" {
		return nil
	}
	return func(pid int) bool { return jobGroup(h, strconv.Itoa(pid)) == own }
}

var slurmGroup = lazyregexp.New(`/job_\d+\b`)

// jobGroup returns the job in a process's control group:
// "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0".
func jobGroup(h *host.Host, pid string) string {
	groups, _ := h.ReadFile("/proc/" + pid + "/cgroup")
	return slurmGroup.FindString(string(groups))
}

// inContainer looks for the processes here that have the driver open. If NVML lists all of them, the others in its list
// belong to somebody else. If there are none, all do.
func (a *Answer) inContainer(h *host.Host) func(pid int) bool {
	named := map[int]bool{}
	for _, holder := range a.Holders {
		named[holder.PID] = true
	}
	open := map[int]bool{}
	entries, err := h.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		has, known := opensDriver(h, e.Name())
		if !known || has && !named[pid] {
			return nil
		}
		open[pid] = has
	}
	return func(pid int) bool { return open[pid] }
}

// opensDriver reports whether a process has a node of the driver open, as far as this user may see that.
func opensDriver(h *host.Host, pid string) (has, known bool) {
	files, err := h.ReadDir("/proc/" + pid + "/fd")
	if err != nil {
		return false, host.Absent(err)
	}
	for _, f := range files {
		target, _ := os.Readlink(h.Real("/proc/" + pid + "/fd/" + f.Name()))
		if strings.HasPrefix(target, "/dev/nvidia") {
			return true, true
		}
	}
	return false, true
}
