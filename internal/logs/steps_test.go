package logs

import (
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/readers"
	"cudacompat/internal/logs/signature"
	"cudacompat/matrix/pin"

	"mvdan.cc/sh/v3/syntax"
)

// TestNothingOfALogBecomesACommand puts shell syntax into every place of every step. The commands must stay the same
// except for one word.
func TestNothingOfALogBecomesACommand(t *testing.T) {
	var all []string
	for _, s := range table(t) {
		all = append(all, s.Do...)
	}
	for name := range finding.Book().Answers {
		all = append(all, finding.FindAnswer(name).Do...)
	}
	for _, steps := range readers.ListSteps() {
		all = append(all, steps...)
	}
	holed := slices.DeleteFunc(all, func(s string) bool { return !signature.Placeholder.MatchString(s) })
	if len(holed) < 20 {
		t.Fatalf("%d steps with a place", len(holed))
	}
	for _, words := range holed {
		plain, _ := signature.FillStep(words, func(string) string { return "zx" })
		for _, text := range []string{"zx$(zx)", "zx;zx", "zx`zx`", "'zx", "\"zx", "zx\nzx", "zx|zx", "zx zx", "-ozx", "zx>zx"} {
			got, ok := signature.FillStep(words, func(string) string { return text })
			if ok && !slices.Equal(shape(t, got), shape(t, plain)) {
				t.Errorf("%q gives %q", words, got)
			}
		}
	}
}

// shape returns the structure of the commands between backquotes.
func shape(t *testing.T, step string) []string {
	t.Helper()
	var list []string
	for i, part := range strings.Split(step, "`") {
		if i%2 == 0 {
			continue
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(part), "")
		if err != nil {
			t.Errorf("%q: %v", part, err)
			continue
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CallExpr:
				list = append(list, "call of "+strings.Repeat("a word ", len(n.Args)))
			case *syntax.CmdSubst, *syntax.Redirect, *syntax.BinaryCmd, *syntax.ParamExp:
				list = append(list, "more")
			}
			return true
		})
	}
	return list
}

// TestStepsIn: a step's command is apart where it can be run as it stands, and another way is marked.
func TestStepsIn(t *testing.T) {
	for text, want := range map[string]pin.Step{
		"run `nvidia-smi -L`: are there any?":                    pin.Run("nvidia-smi -L").Explained("are there any?"),
		"run `df -h /dev/shm`":                                   pin.Run("df -h /dev/shm"),
		"or run `sudo nvidia-smi -c DEFAULT`":                    pin.Say("run `sudo nvidia-smi -c DEFAULT`").Instead(), // a word that may be the reader's
		"run `echo \"$CUDA_HOME\"`":                              pin.Run(`echo "$CUDA_HOME"`),
		"run `pip install PACKAGE`":                              pin.Say("run `pip install PACKAGE`"),
		"run `MAX_JOBS=2 pip install .`":                         pin.Run("MAX_JOBS=2 pip install ."),
		"look at train.py, line 3: print the type of the object": pin.Say("look at train.py, line 3: print the type of the object"),
	} {
		if got := stepsIn([]string{text})[0]; got != want {
			t.Errorf("%q: %+v, not %+v", text, got, want)
		}
	}
}
