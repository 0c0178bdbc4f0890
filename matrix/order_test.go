package matrix

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix/internal/rules"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"

	"golang.org/x/tools/txtar"
)

// said returns the answer of each build and the rules that report something, as a set. The order of the input may
// decide which of several packages a finding names first.
func said(v verdict.Verdict) string {
	lines := []string{}
	for _, a := range v.Answers {
		lines = append(lines, fmt.Sprintf("answer %s: %s %v", a.Answer, a.Subject, slices.Sorted(slices.Values(a.Because))))
	}
	for _, f := range v.Findings {
		lines = append(lines, fmt.Sprintf("%s %s", f.Severity, f.Rule))
	}
	for _, u := range v.Unknown {
		lines = append(lines, fmt.Sprintf("unknown %s", u.Rule))
	}
	slices.Sort(lines)
	return string(v.Outcome) + "\n" + strings.Join(slices.Compact(lines), "\n")
}

// TestOrderOfCases checks that the order of an environment's packages changes nothing in any case. make test takes
// every third.
func TestOrderOfCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases found")
	}
	for i, file := range files {
		if !wholeGrid && i%3 != 0 {
			continue
		}
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := said(judge(t, archive, true))
		random := rand.New(rand.NewPCG(9, 10))
		for range 2 {
			got := said(judgeFacts(t, archive, true, func(f *probe.Facts) {
				for i := range f.Environments {
					e := &f.Environments[i]
					random.Shuffle(len(e.Requested), func(i, j int) { e.Requested[i], e.Requested[j] = e.Requested[j], e.Requested[i] })
					random.Shuffle(len(e.Packages), func(i, j int) { e.Packages[i], e.Packages[j] = e.Packages[j], e.Packages[i] })
					random.Shuffle(len(e.Builds), func(i, j int) { e.Builds[i], e.Builds[j] = e.Builds[j], e.Builds[i] })
				}
			}))
			if got != want {
				t.Errorf("%s: in another order\n%s\nin place of\n%s", file, got, want)
				break
			}
		}
	}
}

// TestOrderOfLines checks the same for the lines of a requirements file.
func TestOrderOfLines(t *testing.T) {
	pool := []string{"xformers==0.0.33.post2", "vllm==0.11.0", "torch==2.9.1", "torch>=2.6", "torchvision==0.24.1", "torchaudio",
		"flash-attn==2.8.3", "bitsandbytes==0.48.1", "deepspeed", "triton==3.5.1", "numpy==2.1.0", "cupy-cuda12x==13.6.0", "cudf-cu12",
		"onnxruntime-gpu==1.23.2", "tensorflow==2.20.0", "tensorflow[and-cuda]==2.18.0", "jax[cuda12]==0.6.2", "faiss-gpu-cu12", "sglang",
		"nvidia-cudnn-cu12==9.10.2.21", "nvidia-cuda-runtime-cu13==13.0.48", "onnxruntime==1.23.2", "paddlepaddle-gpu==2.6.1.post120",
		"--extra-index-url https://download.pytorch.org/whl/cu126",
		"https://github.com/turboderp-org/exllamav3/releases/download/v0.0.30/exllamav3-0.0.30+cu128.torch2.9.0-cp312-cp312-linux_x86_64.whl",
		"https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3/flash_attn-2.8.3+cu128torch2.8.0-cp312-cp312-linux_x86_64.whl"}
	random := rand.New(rand.NewPCG(11, 12))
	sets := 150
	if wholeGrid {
		sets = 400
	}
	for range sets {
		lines := make([]string, 2+random.IntN(5))
		for i := range lines {
			lines[i] = pool[random.IntN(len(pool))]
		}
		lines = slices.Compact(slices.Sorted(slices.Values(lines)))
		want, first := "", strings.Join(lines, "\n")
		for range 3 {
			node, err := probe.GivenFile(probe.Document{Name: "requirements.txt", Data: []byte(strings.Join(lines, "\n") + "\n")})
			if err != nil {
				t.Fatal(err)
			}
			got := said(Check(context.Background(), Embedded(), node, []Target{{Driver: "550.90.07", GPUs: []string{"L4"}}}, verdict.Policy{NoPins: true}))
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%q\nand in another order %q:\n%s\nin place of\n%s", first, strings.Join(lines, "\n"), got, want)
				break
			}
			random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		}
	}
}

// TestRulesAreSmall checks that everything a result decides is in the result. A rule that needs a field of its own is
// two rules.
func TestRulesAreSmall(t *testing.T) {
	if n := reflect.TypeFor[Rule]().NumField(); n > 10 {
		t.Errorf("a rule has %d fields", n)
	}
}

// TestWhatSilencesRules checks that a rule runs after those that can silence it. An error about a link that the rule
// depends on silences it, and an error about another link does not.
func TestWhatSilencesRules(t *testing.T) {
	stood := map[verdict.LinkName]bool{}
	for i, rule := range rules.All {
		if rule.SaidBy != "" && !slices.ContainsFunc(rules.All[:i], func(r Rule) bool { return r.ID == rule.SaidBy }) {
			t.Errorf("%s is said by %q, which is no rule before it", rule.ID, rule.SaidBy)
		}
		for _, link := range rule.Rests {
			if !stood[link] {
				t.Errorf("%s rests on %s, on which no rule before it stands", rule.ID, link)
			}
		}
		stood[rule.Link] = true
	}
	for _, c := range []struct {
		rule, cause string
		want        bool
	}{
		{"minor-compat", "driver-too-old", true},
		{"gsp-firmware", "driver-missing", true},
		{"gpu-health", "driver-unresponsive", true},
		{"driver-too-old", "driver-mismatch", false}, // a reboot, and a wheel that no reboot helps
		{"gpu-arch-missing", "driver-too-old", false},
		{"driver-too-old", "driver-missing", false},
	} {
		rule, _ := rules.Named(c.rule)
		cause, _ := rules.Named(c.cause)
		if got := rule.SilentAfter(cause); got != c.want {
			t.Errorf("%s is silent after %s: %t", c.rule, c.cause, got)
		}
	}
}

// TestPartsOfSubjects checks that the parts of every subject and missing fact in the cases make up its words.
func TestPartsOfSubjects(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases found")
	}
	builds, reasons := 0, map[string]int{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v := judge(t, archive, true)
		for _, a := range v.Answers {
			if builds++; !strings.HasPrefix(a.Subject, a.About.Words()) || a.About.Name == "" || strings.Contains(a.About.Name, " ") ||
				a.About.Words() != a.Subject && a.Subject != a.About.Words()+" in "+a.About.Place {
				t.Errorf("%s: %q is %+v", file, a.Subject, a.About)
			}
		}
		for _, f := range v.Findings {
			if f.About.Words() != f.Subject && f.Subject != f.About.Words()+" in "+f.About.Place {
				t.Errorf("%s: %q is %+v", file, f.Subject, f.About)
			}
		}
		for _, u := range v.Unknown {
			reasons[u.Reason]++
			if u.Why != "" && u.Fact != "" && u.Fact+": "+u.Why != u.Missing || u.Why == "" && u.Fact != "" && u.Fact != u.Missing {
				t.Errorf("%s: %q is %+v", file, u.Missing, u)
			}
		}
	}
	for _, reason := range []string{"", "unpinned", "tables", "file", "held"} { // "bare" is of files that only name packages
		if reasons[reason] == 0 {
			t.Errorf("no case lacks a fact for a reason of kind %q", reason)
		}
	}
	if builds < 500 {
		t.Errorf("%d builds", builds)
	}
}
