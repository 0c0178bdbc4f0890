package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"

	"golang.org/x/tools/txtar"
	"mvdan.cc/sh/v3/shell"
	"mvdan.cc/sh/v3/syntax"
)

// hostile lists texts that a shell or a program would not read as a plain word.
var hostile = []string{"$(zx)", ";zx;", "\nzx\n", "'zx", "\"zx", "`zx`", "|zx", "&&zx", " zx", ">zx", "#zx", "*zx", "\\zx", "!zx",
	"${zx}", "-ozx", "~zx", "'$(zx)'", "\"$(zx)\""}

// TestNoInputBecomesACommand appends hostile text to each string of every case's facts, or replaces the string, one
// field at a time. Every command in the result must still be one that was meant, with its words intact. make test takes
// every fourth case.
func TestNoInputBecomesACommand(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatal("no cases found")
	}
	asked := 0
	for i, file := range files {
		if !wholeGrid && i%4 != 0 {
			continue
		}
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var targets []Target
		if data := getFile(archive, "target.json"); data != nil {
			if err := json.Unmarshal(data, &targets); err != nil {
				t.Fatal(err)
			}
		}
		asked += wantHarmless(t, file, factsOf(t, archive), targets, i)
	}
	if asked < 5_000 && wholeGrid || asked < 1_000 {
		t.Errorf("only %d commands and steps were looked at", asked)
	}
}

// wantHarmless judges facts with a text in one kind of field after the other, because a field that decides hides the
// others, and then in all strings at once.
func wantHarmless(t *testing.T, name string, data []byte, targets []Target, first int) (asked int) {
	t.Helper()
	for i, field := range []string{"Kernel", "Path", "Name", "Version", "By", "Of", "Library", "Reason", ""} {
		text := hostile[(first+i)%len(hostile)] // the cases of a rule have all of them
		node, err := probe.Given(data)
		if err != nil {
			t.Fatal(err)
		}
		if field == "" {
			node.Variables["CUDA_VISIBLE_DEVICES"] += text
		}
		spoil(reflect.ValueOf(&node).Elem(), field, text)
		v := Check(context.Background(), Embedded(), node, targets, verdict.Policy{})
		for _, f := range v.Findings {
			for _, p := range f.Pins {
				for _, command := range p.Commands {
					asked++
					wantCommand(t, name+" "+f.Rule, strings.TrimPrefix(command, "RUN "))
				}
			}
			for _, s := range stepsOf(f) {
				asked++
				wantStep(t, name+" "+f.Rule, s.Say)
				if s.Run != "" {
					wantCommand(t, name+" "+f.Rule, s.Run)
				}
			}
		}
	}
	return asked
}

// stepsOf returns a finding's steps and those of its pins.
func stepsOf(f verdict.Finding) []pin.Step {
	steps := slices.Clone(f.Steps)
	for _, p := range f.Pins {
		steps = append(steps, p.Steps...)
	}
	return steps
}

// spoil appends a text to every string in the fields with a name. For Kernel it also changes lists.
func spoil(v reflect.Value, field, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem(), field, text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i), field, text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			switch {
			case !strings.HasPrefix(name, field) || field == "":
				spoil(f, field, text)
			case f.Kind() == reflect.String && f.String() != "":
				if f.SetString(f.String() + text); strings.HasPrefix(text, "-") {
					f.SetString(text)
				}
			case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.String:
				for j := range f.Len() {
					f.Index(j).SetString(f.Index(j).String() + text)
				}
			default:
				spoil(f, field, text)
			}
		}
	}
}

// wantCommand parses a command and checks that it runs only programs that cudacompat names, and that the shell expands
// only what cudacompat wrote.
func wantCommand(t *testing.T, name, command string) {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		t.Errorf("%s: %q: %v", name, command, err)
		return
	}
	if len(file.Stmts) > 1 {
		t.Errorf("%s: several commands: %q", name, command)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.Redirect, *syntax.ExtGlob, *syntax.Subshell:
			t.Errorf("%s: %T in %q", name, n, command)
		case *syntax.ParamExp:
			if n.Param.Value != "LD_LIBRARY_PATH" {
				t.Errorf("%s: a variable in %q", name, command)
			}
		case *syntax.CallExpr:
			wantProgram(t, name, command, n)
		}
		return true
	})
}

// programs lists the programs that commands may start, and shell words that may precede them.
var programs = []string{"pip", "uv", "apiclient", "sudo", "export", "conda", "curl", "apt-get", "dnf", "echo", "python3", "docker", "podman",
	"chmod", "unset", "ulimit", "sed", "grep"}

func wantProgram(t *testing.T, name, command string, call *syntax.CallExpr) {
	t.Helper()
	if len(call.Args) == 0 {
		return
	}
	program := call.Args[0].Lit()
	if program == "" { // quoted: the Python of an environment
		program = "/bin/python"
	}
	known := slices.Contains(programs, program) || strings.Contains(program, "/bin/python") ||
		strings.HasPrefix(program, "python")
	if !known || strings.Contains(program, "zx") && !strings.Contains(program, "/") {
		t.Errorf("%s: the program %q in %q", name, program, command)
	}
	for _, arg := range call.Args[1:] {
		if strings.HasPrefix(arg.Lit(), "-ozx") {
			t.Errorf("%s: the option %q in %q", name, arg.Lit(), command)
		}
	}
}

// wantStep checks a sentence: text from an input must be in quotation marks, and each command in backquotes must be
// valid.
func wantStep(t *testing.T, name, step string) {
	t.Helper()
	if plain := withoutQuotes(step); strings.ContainsAny(around(plain, "zx"), "$;`|&<>\n\\") {
		t.Errorf("%s: bare in a step: %q", name, step)
	}
	for i, part := range strings.Split(withoutQuotes(step), "`") {
		if i%2 == 1 && strings.Contains(part, "zx") {
			t.Errorf("%s: bare in a command: %q", name, step)
		}
	}
}

// around returns the characters before and after each occurrence of a word.
func around(text, word string) string {
	var all string
	for {
		before, after, found := strings.Cut(text, word)
		if !found {
			return all
		}
		all += before[max(0, len(before)-2):] + after[:min(len(after), 1)]
		text = after
	}
}

// withoutQuotes removes the words that a shell's quotation marks enclose.
func withoutQuotes(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		end := quotedUpTo(text, i)
		if end < 0 {
			out.WriteByte(text[i])
			continue
		}
		i = end
	}
	return out.String()
}

// quotedUpTo returns the end of the quotation that begins at an index, or -1. An apostrophe within a word begins none.
func quotedUpTo(text string, at int) int {
	escapes := false
	switch {
	case text[at] == '"':
		escapes = true
	case text[at] == '\'' && at > 0 && text[at-1] == '$':
		escapes = true
	case text[at] == '\'' && (at == 0 || strings.IndexByte(" =`(", text[at-1]) >= 0):
	default:
		return -1
	}
	for i := at + 1; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] == text[at]:
			return i
		}
	}
	return -1
}

// FuzzCommands gives facts any text in the fields that stand in commands and steps.
func FuzzCommands(f *testing.F) {
	for _, text := range hostile {
		f.Add("6.8.0-1"+text, "/opt/venv"+text, "2.9.0"+text, "numpy"+text)
	}
	f.Fuzz(func(t *testing.T, kernel, place, release, name string) {
		node := facts.Facts{System: facts.System{ID: "ubuntu", OS: "Ubuntu 22.04", Kernel: kernel, Arch: "x86_64"},
			Driver:  facts.Driver{Libraries: []facts.Library{{Name: "libcuda", Version: "535.183.01", Path: place + "/libcuda.so.1"}}},
			Machine: facts.Machine{Kernels: []string{kernel, "5.15.0-1"}},
			GPUs:    []facts.GPU{{Name: "NVIDIA L4", PCIID: "10de:27b8", Capability: "8.9", From: []string{"/sys/bus/pci"}}},
			Environments: []facts.Environment{{Path: place, Python: "3.12", Kind: "venv", Active: true,
				Builds: []facts.Build{{Name: "torch", Version: release, CUDA: "13.0", Accelerator: "cuda", Path: place + "/torch",
					Looked: true, Missing: []string{"libcudnn.so.9" + name},
					Hindrances: []facts.Hindrance{{Kind: facts.HindranceGone, Of: name + " " + release, Path: place}}}},
				Packages: []facts.Package{{Name: name, Version: release, Path: place}}}}}
		node.Complete()
		for _, finding := range Check(context.Background(), Embedded(), node, nil, verdict.Policy{}).Findings {
			for _, p := range finding.Pins {
				for _, command := range p.Commands {
					parses(t, command)
				}
			}
		}
		parses(t, pin.Command("pip", "install", kernel, place, release, name))
		fields, err := shell.Fields(pin.Command(kernel, place, release, name), func(string) string { return "" })
		if want := []string{kernel, place, release, name}; err != nil || !slices.Equal(fields, want) &&
			!strings.Contains(fmt.Sprint(want), "\x00") {
			t.Errorf("%q becomes %q (%v)", want, fields, err)
		}
	})
}

func parses(t *testing.T, command string) {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) != 1 {
		t.Errorf("%q: %v", command, err)
	}
}
