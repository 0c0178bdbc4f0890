package nvml

import (
	"os"
	"path/filepath"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

// TestPlace checks whose memory it is: by control group for a Slurm job, by the processes inside for a container.
func TestPlace(t *testing.T) {
	held := func(pids ...int) []holder {
		var list []holder
		for _, pid := range pids {
			list = append(list, holder{0, pid, 100})
		}
		return list
	}
	for _, tt := range []struct {
		name    string
		files   map[string]string
		links   map[string]string
		holders []holder
		want    int64
	}{
		{"host", nil, nil, held(7), -1},
		{"job", map[string]string{"proc/self/cgroup": "0::/slurm/job_1/step_0",
			"proc/7/cgroup": "0::/slurm/job_1/step_1", "proc/8/cgroup": "0::/slurm/job_12/step_0"}, nil, held(7, 8),
			100},
		{"container-alone", map[string]string{".dockerenv": "", "proc/1/fd/x": ""}, nil, held(4711), 0},
		{"container-named", map[string]string{".dockerenv": ""}, map[string]string{"proc/1/fd/3": "/dev/nvidia0"},
			held(1, 4711), 100},
		{"container-other-numbers", map[string]string{".dockerenv": ""},
			map[string]string{"proc/1/fd/3": "/dev/nvidia0"}, held(4711), -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			hosttest.Must(t, os.MkdirAll(filepath.Join(root, "proc"), 0o755))
			for name, text := range tt.files {
				hosttest.Write(t, filepath.Join(root, name), text)
			}
			for name, target := range tt.links {
				hosttest.Link(t, root, target, name)
			}
			a := Answer{GPUs: []facts.GPU{{Memory: &facts.Memory{Used: 1000}}, {}}, Holders: tt.holders}
			a.Place(&host.Host{Root: root})
			if got := a.GPUs[0].Memory.Here; got != tt.want {
				t.Errorf("%d bytes, want %d", got, tt.want)
			}
		})
	}
}
