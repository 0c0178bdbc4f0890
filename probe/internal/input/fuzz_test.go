package input

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// FuzzGiven reads arbitrary bytes as what `check` is given.
func FuzzGiven(f *testing.F) {
	reports, err := filepath.Glob("collectenv/testdata/*")
	hosttest.Must(f, err)
	for _, name := range reports {
		data, err := os.ReadFile(name)
		hosttest.Must(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"schema":"cudacompat/facts/v1","gpus":null,"environments":[{"builds":[{}]}]}`))
	f.Add([]byte(`{"schema":"cudacompat/report/v1","facts":{"driver":{"version":"535.183.01"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Read(Document{Data: data})
		if err != nil {
			return
		}
		again, err := json.Marshal(got)
		hosttest.Must(t, err)
		var back facts.Facts
		hosttest.Must(t, json.Unmarshal(again, &back))
		back.Complete()
		valid := func(s string) bool { return strings.ToValidUTF8(s, "\uFFFD") == s }
		if diff := cmp.Diff(got, back); diff != "" && valid(string(data)) {
			t.Errorf("after a JSON round trip:\n%s", diff)
		}
		if bytes.Contains(again, []byte(":null")) && !bytes.Contains(again, []byte(`"cuda_available":null`)) {
			t.Errorf("null in %s", again)
		}
	})
}
