package sed

import (
	"os/exec"
	"strings"
	"testing"
)

// TestEdit edits as sed does, or says that it does not follow the call.
func TestEdit(t *testing.T) {
	const text = "torch==2.7.1+cu126\nnumpy>=1.26 # a/b\n[x] $1 torch torch\n"
	known, err := exec.LookPath("sed")
	for _, words := range [][]string{
		{"s/torch/jax/"}, {"s/torch/jax/g"}, {"s|a/b|&&|"}, {`s/2.7.1+cu126/2.9.0+cu130/`}, {"-E", "s/(torch)==([0-9.]+)/\\2 \\1/"},
		{`s/\(torch\)==/\1>=/`}, {"/torch/d"}, {"/^torch/d;/numpy/s/1/2/"}, {"-e", "s/a/b/", "-e", "s/b/c/"}, {`s/\//-/`}, {"s/TORCH/x/I"},
		{"-r", "s/t?orch+/x/g"}, {`s/t\?orch\+/x/g`}, {"s/.*/$1/"}, {"s/[^a-z]//g"}, {"s/#.*$//\ns/ *$//"}, {"s/x*/y/"}, {`s/$/\n-e ./`},
		{"s/[]x]/y/"}, {"-E", "s/o|or/x/"}, {`s/\$1/a/`}, {"s,torch,jax, ; s/a/b/"},
	} {
		c, ok := Parse(words)
		if !ok || err != nil {
			t.Errorf("%q: %v, %v", words, ok, err)
			continue
		}
		got, _ := c.Edit(text)
		command := exec.Command(known, words...)
		command.Stdin = strings.NewReader(text)
		want, err := command.Output()
		if err != nil || got != string(want) {
			t.Errorf("%q: %q, and sed says %q (%v)", words, got, want, err)
		}
	}
	for _, words := range [][]string{{"2d"}, {"$d"}, {"/a/!d"}, {"/a/,/b/d"}, {"s/a/b/2"}, {"s/a/b/w x"}, {"a x"}, {"y/a/b/"}, {"-n", "p"},
		{"s/a/\\U&/"}, {`s/\<a/b/`}, {"s/a/b"}, {"/a/c x"}, {"-f", "x"}, {"s/\\(a/b/"}, {"s/(a/b/", "-E"}, {"-z", "s/a/b/"}, {"s//b/"}, {"x"},
		{"s/[a\\]]/b/"}, {"s/a*\\{2\\}^/b/"}} {
		if _, ok := Parse(words); ok {
			t.Errorf("%q is followed", words)
		}
	}
}

// TestParse finds the files, and whether they are edited in place.
func TestParse(t *testing.T) {
	for text, want := range map[string]bool{"-i s/a/b/ f g": true, "-i.bak s/a/b/ f g": true, "-Ei -e s/a/b/ f g": true, "--in-place s/a/b/ f g": true,
		"s/a/b/ f g": false, "-ni s/a/b/ f g": true} {
		if c, _ := Parse(strings.Fields(text)); c.InPlace != want || strings.Join(c.Files, " ") != "f g" {
			t.Errorf("%q: %+v", text, c)
		}
	}
	if c, ok := ParseGrep([]string{"-viE", "^(torch|jax)", "f"}, false); !ok || len(c.Files) != 1 {
		t.Error("grep -v is not followed")
	} else if got, _ := c.Edit("Torch\nnumpy\n"); got != "numpy\n" {
		t.Errorf("grep -v: %q", got)
	}
}
