package given

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// numbered is a line for each number, after a head and before a tail.
func numbered(head, line string, n int, tail string) []byte {
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		fmt.Fprintf(&b, line, i)
	}
	return []byte(b.String() + tail)
}

// TestTooLarge: what would take minutes or gigabytes is refused at once, and the error says what there is too much of.
func TestTooLarge(t *testing.T) {
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"objects": {numbered(`{"gpus":[{}`, `,{"n":%d}`, 60_000, "]}"),
			"it has 60002 JSON objects; more than 50000 are not read"},
		"GPUs": {numbered(`{"gpus":[{}`, `,{"n":%d}`, 2000, "]}"),
			"it has 2001 GPUs; more than 1024 are not read"},
		"environments": {numbered(`{"environments":[{}`, `,{"path":"/e%d"}`, 6000, "]}"),
			"it has 6001 environments; more than 5000 are not read"},
		"builds": {numbered("", "torch==2.%d\n", 6000, ""), "it has 6000 builds; more than 2000 are not read"},
		"releases": {numbered("", "vllm==0.1.%d\n", 6000, ""),
			"it has 6000 releases of one package; more than 2000 are not read"},
		"tables": {numbered("lock-version = \"1.0\"\n", "[a%d]\n", 80_000, ""),
			"it has 80000 tables; more than 10000 are not read"},
		"wheels": {numbered("version = 1\n[[package]]\nname = \"torch\"\nwheels = [{}", ",{n=%d}", 200_000,
			"]\n"), "it has 200001 inline tables; more than 100000 are not read"},
		"lines": {numbered("", "x%d\n", 300_000, ""), "it has 300000 lines; more than 200000 are not read"},
	} {
		t.Run(name, func(t *testing.T) {
			started := time.Now()
			_, err := Read(Document{Data: tt.data})
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if took := time.Since(started); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// TestLargeEnough: the largest that people have is read.
func TestLargeEnough(t *testing.T) {
	lock := numbered("version = 1\n",
		"[[package]]\nname = \"p%d\"\nversion = \"1\"\n"+
			"wheels = [{ url = \"https://example.org/p-1-py3-none-any.whl\" }]\n\n", 3000,
		"[[package]]\nname = \"torch\"\nversion = \"2.9.0+cu130\"\n")
	got, err := Read(Document{Data: lock})
	if err != nil || len(got.Environments) != 1 || got.Environments[0].Builds[0].Name != "torch" {
		t.Errorf("%+v, %v", got.Environments, err)
	}
}

// TestIncludeBounds: of the files that a requirements file includes, those past a bound are not read.
func TestIncludeBounds(t *testing.T) {
	for want, i := range map[string]includes{
		"more than 50 files are included": {met: make([]include, maxIncludes+1)},
		"larger than 2 MiB":               {},
	} {
		i.open = func(string) ([]byte, error) { return make([]byte, maxIncludeBytes+1), nil }
		if _, err := i.read(include{name: "more.txt"}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
