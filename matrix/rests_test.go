package matrix

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cudacompat/matrix/internal/links"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// reader are the probes that read a fact. What is taken away was not looked at: a probe that looked and found nothing is
// a fact of its own.
var reader = map[string]string{links.FactGPUs: "pci", links.FactLoaded: "proc-driver", links.FactNVML: "nvml", links.FactTaken: "driver-libraries",
	links.FactLibraries: "driver-libraries", links.FactCompat: "driver-libraries", links.FactModules: "driver-modules", links.FactNodes: "devices"}

// together are the facts that one reading finds: who knows one of them knows all.
var together = map[string][]string{links.FactSASS: {links.FactPTX, links.FactGroups}, links.FactPTX: {links.FactSASS, links.FactGroups}}

// without returns a machine of which some facts are not known.
func without(t *testing.T, data []byte, names ...string) facts.Facts {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		for _, fact := range append(together[name], name) {
			takeAway(tree, strings.Split(fact, "."))
		}
	}
	left, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	f, err := probe.Given(left)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range f.Probes {
		if slices.ContainsFunc(names, func(name string) bool { return reader[name] == p.Name }) {
			f.Probes[i].Status, f.Probes[i].Error = "failed", "taken away"
		}
	}
	return f
}

func takeAway(tree any, path []string) {
	switch at := tree.(type) {
	case []any:
		for _, one := range at {
			takeAway(one, path[1:])
		}
	case map[string]any:
		if len(path) == 1 {
			delete(at, path[0])
		} else {
			takeAway(at[path[0]], path[1:])
		}
	}
}

// chainsOf returns the links of a verdict by build, those of the machine under no name.
func chainsOf(v verdict.Verdict) map[string][]verdict.Link {
	chains := map[string][]verdict.Link{"": v.Judged[0].Links}
	for _, a := range v.Answers {
		chains[a.Subject] = a.Links
	}
	return chains
}

// soundMachines are those that cases are patches over, and which have a GPU.
var soundMachines = []situation{
	{Name: "host", Base: "host", Outcomes: []string{"compatible"}, Sound: true},
	{Name: "host, TensorFlow", Base: "host tensorflow-2.20.0", Outcomes: []string{"compatible"}, Sound: true},
	{Name: "host, JAX", Base: "host jax-0.7.2", Outcomes: []string{"compatible"}, Sound: true},
	{Name: "container", Base: "container", Outcomes: []string{"compatible"}, Sound: true},
	{Name: "pod", Base: "pod", Outcomes: []string{"compatible"}, Sound: true},
	{Name: "cdi", Base: "cdi", Outcomes: []string{"compatible"}, Sound: true},
	{Name: "ami", Base: "ami", Outcomes: []string{"compatible"}, Sound: true, Args: []string{"--instance", "g6.xlarge"}},
	{Name: "wsl", Base: "wsl", Outcomes: []string{"compatible"}, Sound: true},
}

// TestSoundMachines: what cases are patches over has no error and no warning.
func TestSoundMachines(t *testing.T) {
	for _, s := range soundMachines {
		if wrong := s.wrong(s.judged(t)); wrong != "" {
			t.Errorf("%s: %s", s.Name, wrong)
		}
	}
}

// TestHeldLinksRestOnFacts: on every sound machine, a held link is held no more where all the facts that it rests on are
// taken away, and no single fact that is taken away turns works into broken.
func TestHeldLinksRestOnFacts(t *testing.T) {
	machines, links := 0, 0
	for _, s := range append(situations(t), soundMachines...) {
		if !s.Sound || s.Outcomes[0] != string(verdict.Compatible) {
			continue
		}
		machines++
		data := s.recorded(t)
		targets, policy := s.asked()
		check := func(f facts.Facts) verdict.Verdict {
			return Check(context.Background(), Embedded(), f, targets, policy)
		}
		sound := check(without(t, data))
		var tried []string
		for subject, chain := range chainsOf(sound) {
			for _, l := range chain {
				if l.State != verdict.Held {
					continue
				}
				if links++; len(l.Facts) == 0 {
					t.Errorf("%s: %s of %q rests on nothing", s.Name, l.Link, subject)
				}
				for _, left := range chainsOf(check(without(t, data, l.Facts...)))[subject] {
					if left.Link == l.Link && left.State == verdict.Held {
						t.Errorf("%s: without %v %s of %q is held by %q", s.Name, l.Facts, l.Link, subject, left.From)
					}
				}
				tried = append(tried, l.Facts...)
			}
		}
		slices.Sort(tried)
		for _, fact := range slices.Compact(tried) {
			v := check(without(t, data, fact))
			for _, a := range v.Answers {
				i := slices.IndexFunc(sound.Answers, func(b verdict.BuildAnswer) bool { return a.Subject == b.Subject })
				if i >= 0 && strings.HasPrefix(string(sound.Answers[i].Answer), "works") && a.Answer == verdict.Broken {
					t.Errorf("%s: without %s %s is broken: %v", s.Name, fact, a.Subject, a.Because)
				}
			}
		}
	}
	t.Logf("%d held links of %d sound machines", links, machines)
	if machines < 28 || links < 200 {
		t.Error("the machines show little")
	}
}
