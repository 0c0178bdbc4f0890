package request

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"testing"
)

// markersProgram answers as Python's packaging does for Python 3.11.5 on Linux. What it cannot parse is null.
const markersProgram = `
import json, sys
try:
    from packaging.markers import Marker
except ImportError:
    from pip._vendor.packaging.markers import Marker
here = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64",
        "python_version": "3.11", "python_full_version": "3.11.5"}
answers = []
for text in json.load(sys.stdin):
    try:
        answers.append(Marker(text).evaluate(here))
    except Exception:
        answers.append(None)
print(json.dumps(answers))
`

// TestMarkersAgainstPackaging compares environment markers with Python's own library on a seed.
func TestMarkersAgainstPackaging(t *testing.T) {
	const count = 4_000
	random := rand.New(rand.NewPCG(7, 8))
	texts := make([]string, count)
	for i := range texts {
		texts[i] = randomMarker(random, 3)
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	python := exec.Command("python3", "-I", "-c", markersProgram)
	python.Stdin = bytes.NewReader(input)
	out, err := python.Output()
	if err != nil {
		t.Skip("no python3 with packaging or pip here")
	}
	var want []*bool
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, text := range texts {
		if want[i] == nil {
			continue
		}
		compared++
		if got := (python311).Holds(text); got != *want[i] {
			t.Errorf("%s: we say %v, packaging %v", text, got, *want[i])
		}
	}
	t.Logf("%d of %d compared", compared, count)
}

var python311 = Host{Machine: "x86_64", Python: "3.11", Full: "3.11.5"}

func randomMarker(random *rand.Rand, depth int) string {
	if depth > 0 && random.IntN(2) == 0 {
		text := randomMarker(random, depth-1) + pick(random, " and ", " or ") + randomMarker(random, depth-1)
		if random.IntN(2) == 0 {
			return "(" + text + ")"
		}
		return text
	}
	quote := pick(random, `'`, `"`)
	if random.IntN(2) == 0 {
		name := pick(random, "python_version", "python_full_version")
		release := pick(random, "3", "3.9", "3.10", "3.11", "3.11.4", "3.11.5", "3.11.6", "3.12", "3.1", "4")
		operator := pick(random, "==", "!=", "<", "<=", ">", ">=", "~=")
		if operator == "==" || operator == "!=" {
			release += pick(random, "", "", ".*")
		}
		if random.IntN(5) == 0 && operator != "~=" && release[len(release)-1] != '*' {
			return quote + release + quote + " " + operator + " " + name
		}
		if random.IntN(6) == 0 && release[len(release)-1] != '*' {
			return name + pick(random, " in ", " not in ") + quote + release + " 3.11 3.13" + quote
		}
		return name + operator + " " + quote + release + quote
	}
	name := pick(random, "sys_platform", "platform_system", "os_name", "platform_machine")
	value := pick(random, "linux", "win32", "darwin", "Linux", "posix", "nt", "x86_64", "aarch64", "linux2")
	if random.IntN(5) == 0 {
		return quote + value + quote + pick(random, " == ", " != ", " in ", " not  in ") + name
	}
	return name + pick(random, " == ", "!=", " in ", " not in ") + quote + value + quote
}

func pick(random *rand.Rand, list ...string) string { return list[random.IntN(len(list))] }

// TestServedCUDA reads the CUDA of an index that is named for a package, and of no other.
func TestServedCUDA(t *testing.T) {
	for _, test := range []struct{ address, name, want string }{
		{"https://abetlen.github.io/llama-cpp-python/whl/cu124", "llama-cpp-python", "12.4"},
		{"https://www.paddlepaddle.org.cn/packages/stable/cu126/", "paddlepaddle-gpu", "12.6"},
		{"https://download.pytorch.org/whl/cu124", "bitsandbytes", ""},
		{"https://abetlen.github.io/llama-cpp-python/whl/cpu", "llama-cpp-python", ""},
		{"https://abetlen.github.io/llama-cpp-python/whl/cu124", "numpy", ""},
	} {
		if got := ServedCUDA(test.address, test.name); got != test.want {
			t.Errorf("%s of %s: %q, want %q", test.name, test.address, got, test.want)
		}
	}
}
