package matrix

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
)

// fixSeed draws other machines for TestFixesGoTogether.
const fixSeed = 62

// TestFixesGoTogether draws environments of a torch with companions and extensions that may not fit it, on a driver and a
// GPU that may not run it. It follows the first way of every fix of one report, one after the other, and judges again:
// no error may be there that was not there before, and every fix changes something. What a fix says that it leaves behind is no surprise.
func TestFixesGoTogether(t *testing.T) {
	known, draw := Embedded(), rand.New(rand.NewPCG(fixSeed, 0))
	machines := 40
	if wholeGrid {
		machines = 1_000
	}
	broken, changed, left := 0, 0, 0
	for range machines {
		d := drawStack(known, draw)
		before := d.judge(t, known)
		if before.Outcome != verdict.Incompatible {
			continue
		}
		broken++
		after, said := d, ""
		after.packages = maps.Clone(d.packages)
		var commands []string
		for _, f := range before.Findings {
			if f.Severity == verdict.Note {
				continue
			}
			command, words := firstWay(f)
			if said += words + "\n"; command == "" || slices.Contains(commands, command) {
				continue
			}
			commands = append(commands, command)
			lone := d
			lone.packages = maps.Clone(d.packages)
			if lone.run(t, known, command); lone.driver == d.driver && maps.Equal(lone.packages, d.packages) {
				t.Errorf("driver %s, %s: %v\n%s: %s\nits fix changes nothing: %s", d.driver, d.gpu, d.list(), f.Rule, f.Message, command)
			}
			after.run(t, known, command)
		}
		if len(commands) == 0 {
			continue
		}
		changed++
		again := after.judge(t, known)
		old := errorTexts(before)
		for id, message := range errorTexts(again) {
			name := strings.Fields(id)[1]
			switch {
			case old[id] != "":
				left++
			case !strings.Contains(said, name+" must be compiled again"):
				t.Errorf("driver %s, %s: %v\nfixes:\n\t%s\nlead to %v\nwith a new error %s: %s", d.driver, d.gpu, d.list(),
					strings.Join(commands, "\n\t"), after.list(), id, message)
			}
		}
	}
	t.Logf("%d machines, %d broken, %d changed, %d errors left", machines, broken, changed, left)
	if changed < machines/4 {
		t.Errorf("only %d of %d machines were changed", changed, machines)
	}
}

// stack is a drawn environment on a drawn machine.
type stack struct {
	driver, gpu string
	packages    map[string]string
}

// drawStack draws a torch, companions, and up to three packages that are compiled for one.
func drawStack(known *Tables, draw *rand.Rand) stack {
	pick := func(list []string) string { return list[draw.IntN(len(list))] }
	d := stack{pick([]string{"470.256.02", "525.147.05", "535.183.01", "550.90.07", "570.133.20", "580.95.05"}),
		pick([]string{"V100", "T4", "A100", "L4", "H100", "B200", "P100"}), map[string]string{}}
	recent := slices.DeleteFunc(slices.Clone(tables.Rows[tables.Torch](known)), func(r tables.Torch) bool {
		return r.Platform != "linux_x86_64" || !strings.HasPrefix(r.Variant, "cu") || !version.ParseOrZero(r.Release).AtLeastShort(2, 3)
	})
	torch := recent[draw.IntN(len(recent))]
	d.packages["torch"] = torch.Release + "+" + torch.Variant
	other := torch
	if draw.IntN(2) == 0 {
		other = recent[draw.IntN(len(recent))]
	}
	if draw.IntN(2) == 0 {
		d.packages["torchvision"] = other.Torchvision + "+" + other.Variant
	}
	if draw.IntN(3) == 0 && other.Torchaudio != "" {
		d.packages["torchaudio"] = other.Torchaudio + "+" + other.Variant
	}
	names := []string{"flash-attn", "causal-conv1d", "mamba-ssm", "xformers", "vllm", "sglang", "bitsandbytes", "torchao", "torchcodec",
		"transformer-engine", "flashinfer-python", "torch-scatter", "lmdeploy", "deepspeed", "torch-tensorrt"}
	for range draw.IntN(4) {
		rows := slices.DeleteFunc(slices.Clone(tables.RowsOf[tables.Extension](known, pick(names))), func(e tables.Extension) bool {
			return e.Platform != "linux_x86_64"
		})
		if near := slices.DeleteFunc(slices.Clone(rows), func(e tables.Extension) bool {
			return !slices.ContainsFunc(e.Torch, func(s string) bool { return strings.Contains(s, version.ParseOrZero(torch.Release).Short()) })
		}); len(near) > 0 && draw.IntN(2) == 0 {
			rows = near
		}
		if len(rows) == 0 {
			continue
		}
		e := rows[draw.IntN(len(rows))]
		d.packages[e.Package] = e.Release
		if len(e.CXX11) > 0 && len(e.Torch) > 0 && len(e.CUDA) > 0 { // of a page of releases: the wheel names all three
			d.packages[e.Package] += fmt.Sprintf("+cu%dtorch%scxx11abi%s", version.ParseOrZero(e.CUDA[0]).Major(),
				version.ParseOrZero(strings.TrimLeft(e.Torch[0], "=<>~")).Short(), strings.ToUpper(e.CXX11[0]))
		}
	}
	return d
}

// list formats the packages as pip list does.
func (d stack) list() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(d.packages)) {
		list = append(list, name+" "+d.packages[name])
	}
	return list
}

func (d stack) judge(t *testing.T, known *Tables) verdict.Verdict {
	t.Helper()
	text := "Package Version\n------- -------\n" + strings.Join(d.list(), "\n") + "\n"
	f, err := probe.GivenFile(probe.Document{Name: "list.txt", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return Check(context.Background(), known, f, []Target{{Driver: d.driver, GPUs: []string{d.gpu}, Python: "3.12"}}, verdict.Policy{})
}

// errorTexts returns the messages of a verdict's errors by rule and package.
func errorTexts(v verdict.Verdict) map[string]string {
	list := map[string]string{}
	for _, f := range v.Findings {
		name, _, _ := strings.Cut(f.Subject, " ")
		if f.Severity == verdict.Error {
			list[f.Rule+" "+name] = f.Message
		}
	}
	return list
}

// firstWay returns the command of the first way to mend a finding, as -o script has it, and all its words.
func firstWay(f verdict.Finding) (command, words string) {
	for _, p := range f.Pins {
		words += p.Why + "\n"
	}
	for _, s := range f.Steps {
		words += s.Say + "\n"
	}
	if len(f.Pins) > 0 {
		if f.Pins[0].Package == "driver" {
			return "driver " + f.Pins[0].Version, words
		}
		return f.Pins[0].Commands["pip"], words
	}
	if len(f.Steps) > 0 {
		return f.Steps[0].Run, words
	}
	return "", words
}

// run applies a command to the machine: pip changes its packages, and "driver 580" its driver.
func (d *stack) run(t *testing.T, known *Tables, command string) {
	t.Helper()
	if driver, ok := strings.CutPrefix(command, "driver "); ok {
		d.driver = driver
		return
	}
	for _, one := range strings.Split(command, " && ") {
		words := strings.Fields(strings.ReplaceAll(one, "'", ""))
		if len(words) < 3 || words[0] != "pip" {
			continue
		}
		for i := 2; i < len(words); i++ {
			switch word := words[i]; {
			case strings.HasSuffix(word, "-url"):
				i++
			case strings.HasPrefix(word, "-"), word == "@":
			case words[1] == "uninstall":
				delete(d.packages, word)
			case strings.HasPrefix(word, "https://"):
				wheel := strings.Split(path.Base(word), "-")
				d.packages[strings.ReplaceAll(wheel[0], "_", "-")] = wheel[1]
			case i+1 < len(words) && words[i+1] == "@":
			default:
				d.install(t, known, word, slices.Contains(words, "--force-reinstall"))
			}
		}
	}
}

// install takes a release, or the newest of the tables where a requirement names none. As pip does, it leaves what
// satisfies a requirement, so 2.9.0+cu130 is left for 2.9.0, unless it is forced.
func (d *stack) install(t *testing.T, known *Tables, spec string, forced bool) {
	t.Helper()
	name, release, exact := strings.Cut(spec, "==")
	name, _, _ = strings.Cut(name, "[")
	switch rows := tables.RowsOf[tables.Extension](known, name); {
	case exact && !forced && strings.HasPrefix(d.packages[name], release+"+"):
	case exact:
		d.packages[name] = release
	case len(rows) > 0:
		d.packages[name] = rows[len(rows)-1].Release
	case strings.HasPrefix(spec, "numpy"):
	default:
		t.Errorf("which release does %q install?", spec)
	}
}

// TestEngineFixReplacesTorch checks that the fix for an engine's environment removes a torch of the same release that was
// built for another CUDA, because pip would keep it.
func TestEngineFixReplacesTorch(t *testing.T) {
	for local, want := range map[string]bool{"cu126": true, "cu128": false} {
		v := fileOn(t, Embedded(), "torch==2.8.0+"+local+"\ntorchvision==0.23.0+"+local+"\nlmdeploy==0.12.0\n", "525.147.05", "B200")
		got := ""
		for _, f := range v.Findings {
			for _, p := range f.Pins {
				got += p.Commands["pip"] + "\n"
			}
		}
		if strings.Contains(got, "pip uninstall -y torch torchvision && pip install lmdeploy==0.12.0 torch==2.8.0") != want {
			t.Errorf("%s: %q", local, got)
		}
	}
}
