package shell

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"cudacompat/internal/version"
)

// TestAgainstRealShells compares what scripts install with what Bash and /bin/sh start: pip is a function there that
// prints its words.
func TestAgainstRealShells(t *testing.T) {
	for _, shell := range []string{"bash", "sh"} {
		program, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		random := rand.New(rand.NewPCG(3, 4))
		const count = 400
		scripts := make([]string, count)
		var all strings.Builder
		for i := range scripts {
			scripts[i] = randomScript(random, shell == "bash")
			fmt.Fprintf(&all, "echo '#%d'\n(\npip() { shift; printf '<%%s>' \"$@\"; echo; }\n%s\n)\n", i, scripts[i])
		}
		command := exec.Command(program)
		command.Stdin = strings.NewReader("set -f\n" + all.String())
		out, _ := command.Output() // the last script's own code does not matter
		_, rest, _ := strings.Cut(string(out), "#0\n")
		wrong := 0
		for i, script := range scripts {
			var want string
			want, rest, _ = strings.Cut(rest, fmt.Sprintf("#%d\n", i+1))
			if got := started(script); got != want && wrong < 10 {
				wrong++
				t.Errorf("%s: %q\nstarts %q, and the shell %q", shell, script, got, want)
			}
		}
	}
}

// started returns what a script hands to pip, in the form that the test's function prints.
func started(text string) string {
	image := &recorder{}
	r := NewReader(image)
	r.Local = map[string]Value{}
	r.Follow(text, 1, version.Met, 0)
	return image.pip.String()
}

// recorder is an image without files and variables. It keeps the words of the calls of pip.
type recorder struct {
	pip       strings.Builder
	variables map[string]Value
}

func (i *recorder) Variable(name string) Value { return i.variables[name] }

func (i *recorder) Start(list []string, _ string, _ int, _ bool) {
	if list[0] == "pip" {
		i.pip.WriteString("<" + strings.Join(list[2:], "><") + ">\n")
	}
}

func (*recorder) Text(string) (string, bool)        { return "", false }
func (*recorder) Filter([]string) (string, bool)    { return "", false }
func (*recorder) Write(string, string, bool)        {}
func (*recorder) MarkChanged(string, []string, int) {}
func (*recorder) Edit([]string, int, bool)          {}
func (*recorder) Unread(string, string, int)        {}

// randomScript strings together what a shell follows.
func randomScript(random *rand.Rand, bash bool) string {
	var text strings.Builder
	text.WriteString("V=12.6.3 E= W='a b'; ")
	for range 1 + random.IntN(4) {
		text.WriteString(randomCommand(random, bash, 3) + pick(random, "; ", "\n", " && true; "))
	}
	return text.String()
}

func pick(random *rand.Rand, list ...string) string { return list[random.IntN(len(list))] }

func randomCommand(random *rand.Rand, bash bool, depth int) string {
	command := func() string { return randomCommand(random, bash, depth-1) }
	condition := func() string {
		list := []string{"true", "false", `[ "$V" = 12.6.3 ]`, `[ -z "$E" ]`, `[ -n "$E" ]`, `test x$E = x`, "[ 3 -le 2 ]", "! true",
			`[ ! -z "$V" ]`, `[ "$W" != "a b" ]`}
		if bash {
			list = append(list, "[[ $V == 12.* ]]", "[[ $V =~ ^12 && -z $E ]]", "[[ ! $W = a* || $V != 12.6.3 ]]", "[[ -n $E && -z $E || -n $V ]]", "[[ -n $V || -n $V && -n $E ]]")
		}
		return pick(random, list...)
	}
	if depth == 0 || random.IntN(3) == 0 {
		return "pip install " + randomWords(random, bash)
	}
	switch random.IntN(9) {
	case 0:
		return condition() + " && " + command()
	case 1:
		return condition() + " || " + command()
	case 2:
		return "if " + condition() + "; then " + command() + "; else " + command() + "; fi"
	case 3:
		return "if " + condition() + "; then " + command() + "; elif " + condition() + "; then " + command() + "; fi"
	case 4:
		return "case $V in 11.*) " + command() + " ;; 12.6*|x) " + command() + " ;; *) " + command() + " ;; esac"
	case 5:
		return "for i in " + randomWords(random, bash) + "; do pip install x$i; " + command() + "; done"
	case 6:
		return "{ V=" + pick(random, "11.8", "$V.1", "${V%.*}", "\"$W\"") + "; " + command() + "; }"
	case 7:
		return "(V=11.8; " + command() + ")"
	}
	return "f() { pip install a \"$@\" $1; }; f " + randomWords(random, bash)
}

func randomWords(random *rand.Rand, bash bool) string {
	list := []string{"$V", "\"$V\"", "'$'", "a\\ b", "a\\\\b", "\"a\\\"b\"", "$W", "\"$W\"", "x$W-y", "$E", "\"$E\"", "${V%.*}", "${V%%.*}", "${V#*.}",
		"${V##*.}", "${E:-d}", "${E-d}", "${N:-n}", "${V:+s}", "${E:+s}", "\"${N:-a b}\"", "${#V}", "$(echo $V | cut -d. -f1,2)",
		"$(echo \"$V\" | tr -d .)", "cu$(echo $V | cut -d. -f1)", "'a b'c", "\"x${W}y\"", "\"a'b\"", "a#b", "\"\\$V\""}
	if bash {
		list = append(list, "${V/./}", "${V//./_}", "${V:0:2}", "${V:3}", "${V: -1}", "${V^^}", "${W//a/b}")
	}
	words := []string{"w"}
	for range random.IntN(4) {
		words = append(words, pick(random, list...)+pick(random, "", "", `"t"`))
	}
	return strings.Join(words, " ")
}
