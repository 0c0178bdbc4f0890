package guard

import (
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

// configOracle prints the result of Python's RawConfigParser for each text of a JSON list, or null for one that it
// rejects.
const configOracle = `
import configparser, io, json, sys
def one(text):
    p = configparser.RawConfigParser()
    try: p.read_file(io.StringIO(text, newline=None))
    except configparser.Error: return None
    return {s: {k: v.strip() for k, v in p.items(s)} for s in p.sections()}
json.dump([one(t) for t in json.load(sys.stdin)], sys.stdout)`

// TestParseConfig compares 3,000 files drawn from the parts that decide with Python's own reading.
func TestParseConfig(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python here")
	}
	parts := []string{"[install]", "[global]", "[DEFAULT]", "[other] ; c", "  [install]", "\t[x]", "[]", "[a]b]", "target = /x", "  target = /y",
		"Target: /z", "--prefix=/p", "user", "  user = no", "root =", "   /deep", "# c", "  ; c", "", "   ", "=x", " key = [a]", "a:b=c"}
	random := rand.New(rand.NewPCG(1, 56))
	var texts []string
	for range 3000 {
		var lines []string
		for range 1 + random.IntN(7) {
			lines = append(lines, parts[random.IntN(len(parts))])
		}
		texts = append(texts, strings.Join(lines, []string{"\n", "\r\n", "\r"}[random.IntN(3)]))
	}
	input, _ := json.Marshal(texts)
	cmd := exec.Command(python, "-I", "-c", configOracle)
	cmd.Stdin = strings.NewReader(string(input))
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []map[string]map[string]string
	if err := json.Unmarshal(output, &want); err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		got, err := parseConfig([]byte(text))
		for _, keys := range got { // Python keeps empty lines within a value, which decide nothing
			for key, value := range keys {
				keys[key] = strings.Join(strings.Fields(value), " ")
			}
		}
		for _, keys := range want[i] {
			for key, value := range keys {
				keys[key] = strings.Join(strings.Fields(value), " ")
			}
		}
		if (err != nil) != (want[i] == nil) || err == nil && !reflect.DeepEqual(got, want[i]) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want[i])
		}
	}
}
