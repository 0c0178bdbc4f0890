package facts

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAnonymous gives GPUs that are named by their UUIDs names in all fields alike, and does so once.
func TestAnonymous(t *testing.T) {
	const first, second, other = "GPU-5428af19-1e82-a38c-ee42-cdd3ad745b7e", "GPU-6528", "GPU-7528af19-1e82-a38c-ee42-cdd3ad745b7e"
	const part, lost = "MIG-8528af19-1e82-a38c-ee42-cdd3ad745b7e", "MIG-9528af19"
	f := Facts{
		GPUs: []GPU{{Bus: "0000:00:1e.0"}, {Bus: "0000:00:1d.0"}},
		Variables: map[string]string{"CUDA_VISIBLE_DEVICES": first + ", " + second + "," + other + "," + part + "," + lost + ",-1",
			"NVIDIA_VISIBLE_DEVICES": other, "NCCL_COMM_ID": "node17:1234", "NCCL_HOSTID": "node17", "NCCL_DEBUG": "INFO",
			"NVIDIA_PIP_URL": "https://robot:HUNTER2@index.example/simple"},
		Devices: Devices{Named: []NamedDevice{{Device: first, Found: true, Bus: "0000:00:1e.0"},
			{Device: second, Found: true, Bus: "0000:00:1d.0"}, {Device: other}, {Device: part, Found: true, Bus: "0000:00:1e.0"}}},
		Unread: []Unread{{Place: "a", Reason: "curl -H 'Authorization: Bearer HUNTER2' " + first}},
	}
	f.Anonymous()
	want := map[string]string{"CUDA_VISIBLE_DEVICES": "GPU-1,GPU-0,GPU-unknown-1,MIG-1-1,MIG-unknown-1,-1",
		"NVIDIA_VISIBLE_DEVICES": "GPU-unknown-1", "NCCL_COMM_ID": "***", "NCCL_HOSTID": "***", "NCCL_DEBUG": "INFO",
		"NVIDIA_PIP_URL": "https://***@index.example/simple"}
	if diff := cmp.Diff(want, f.Variables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	var names []string
	for _, d := range f.Devices.Named {
		names = append(names, d.Device)
	}
	if diff := cmp.Diff([]string{"GPU-1", "GPU-0", "GPU-unknown-1", "MIG-1-1"}, names); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	once, _ := json.Marshal(f)
	f.Anonymous()
	if twice, _ := json.Marshal(f); string(once) != string(twice) || strings.Contains(string(once), "HUNTER2") ||
		strings.Contains(string(once), "5428af19") {
		t.Errorf("%s\nthen %s", once, twice)
	}
}
