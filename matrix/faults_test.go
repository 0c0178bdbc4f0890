package matrix_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"golang.org/x/tools/txtar"
)

var (
	faultTrees = flag.String("fault-trees", "", "inject faults into the machines of this `directory`, as `kit.py BINARY trees` writes them, too")
	faultSeed  = flag.Uint64("fault-seed", 0, "draw faults by this `seed`; 0: by the time")
	faultShare = flag.Int("fault-share", 800, "try one fault in `N`")
	faultMost  = flag.Int("fault-machines", 3, "the `number` of broken machines and of sound ones")
)

// A reading call fails by one of these.
var faultCodes = []syscall.Errno{syscall.EIO, syscall.EACCES, syscall.EPERM, syscall.ESTALE, syscall.EMFILE, syscall.ENFILE,
	syscall.ENOMEM, syscall.ETIMEDOUT, syscall.ENOTCONN, syscall.EBUSY}

// faultMachine is a tree of files that is looked at as if it were running.
type faultMachine struct {
	name, root string
	env        map[string]string
	outcome    verdict.Outcome
	calls      map[string]int
}

// look judges the machine while calls fail.
func (m *faultMachine) look(fault host.Fault) (verdict.Verdict, probe.Facts) {
	h := (&host.Host{Root: m.root, Env: m.env}).WithFaults(fault)
	f := probe.Run(context.Background(), h, probe.Options{Timeout: time.Minute})
	return matrix.Check(context.Background(), matrix.Embedded(), f, []matrix.Target{{}}, verdict.Policy{Today: "2026-11-29"}), f
}

// faultMachines returns broken and sound machines, as many of each as are asked for.
func faultMachines(t *testing.T, draw *rand.Rand) []*faultMachine {
	t.Helper()
	var all []*faultMachine
	files, _ := filepath.Glob("../probe/testdata/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		hosttest.Must(t, err)
		h := hosttest.Host(t, archive)
		if envs, _ := hosttest.Entry(archive, "@envs"); h.Rest || envs != "" {
			continue
		}
		all = append(all, &faultMachine{name: filepath.Base(file), root: h.Root, env: h.Env})
	}
	trees, _ := filepath.Glob(filepath.Join(*faultTrees, "*/machine.json"))
	for _, file := range trees {
		var m struct{ Env map[string]string }
		data, err := os.ReadFile(file)
		hosttest.Must(t, err)
		hosttest.Must(t, json.Unmarshal(data, &m))
		all = append(all, &faultMachine{name: filepath.Base(filepath.Dir(file)), root: filepath.Dir(file), env: m.Env})
	}
	count := map[verdict.Outcome]int{}
	draw.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return slices.DeleteFunc(all, func(m *faultMachine) bool {
		m.calls = map[string]int{}
		var mu sync.Mutex
		v, _ := m.look(func(call, _ string) error {
			mu.Lock()
			defer mu.Unlock()
			m.calls[call]++
			return nil
		})
		m.outcome = v.Outcome
		count[m.outcome]++
		return m.outcome == verdict.Inconclusive || count[m.outcome] > *faultMost
	})
}

// TestFaults lets the reading calls of broken and of sound machines fail, each kind from its nth call on and the nth alone.
// A broken machine is then never compatible, and a sound one never incompatible.
func TestFaults(t *testing.T) {
	seed := *faultSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	draw := rand.New(rand.NewPCG(seed, 0))
	tried := map[string]int{}
	var mu sync.Mutex
	for _, m := range faultMachines(t, draw) {
		choose := rand.New(rand.NewPCG(draw.Uint64(), 0))
		t.Run(fmt.Sprintf("%s %s", m.outcome, m.name), func(t *testing.T) {
			t.Parallel()
			for _, call := range slices.Sorted(maps.Keys(m.calls)) {
				for n := 1; n <= m.calls[call]; n++ {
					for _, code := range faultCodes {
						for _, on := range []bool{true, false} {
							if choose.IntN(*faultShare) != 0 {
								continue
							}
							wrong := m.wrong(call, n, on, code)
							mu.Lock()
							tried[fmt.Sprintf("%s %s", m.outcome, map[bool]string{true: "right", false: "wrong"}[wrong == ""])]++
							mu.Unlock()
							if wrong != "" {
								t.Error(wrong)
							}
						}
					}
				}
			}
		})
	}
	t.Cleanup(func() { t.Logf("seed %d: %v", seed, tried) })
}

// unsaid says what is wrong with how a report names the first place that failed: neither a link, an unknown, a note nor a
// failed source names it, or two unknowns do. What is closed to this user in a home is said once for all homes. A refusal in
// /proc and /sys, or of how the system updates itself, is not said: what is read there only adds to a finding (the time of
// the boot, who holds a lock, the machine's vendor, the IOMMU). The GPUs' own files are read by the source pci, which fails.
func unsaid(v verdict.Verdict, f probe.Facts, place string, code syscall.Errno) string {
	refused := code == syscall.EACCES || code == syscall.EPERM
	moves := !slices.ContainsFunc([]string{"/proc/", "/sys/", "/etc/dnf", "/etc/apt", "/usr/bin/unattended-upgrade"},
		func(beginning string) bool { return strings.HasPrefix(place, beginning) })
	if place == "" || refused && (host.IsPrivate(place) || !moves) {
		return ""
	}
	said := map[string]bool{}
	for _, u := range v.Unknown {
		if u.Rule == "not-looked-at" && said[u.Subject] {
			return u.Subject + " is named twice"
		}
		said[u.Subject] = said[u.Subject] || u.Rule == "not-looked-at"
	}
	named := slices.ContainsFunc(f.Unread, func(u facts.Unread) bool {
		return strings.HasPrefix(place+"/", strings.TrimSuffix(u.Place, "/")+"/") || strings.Contains(u.Reason, place)
	})
	failed := slices.ContainsFunc(f.Probes, func(s facts.Status) bool { return s.Status == "failed" })
	if text, _ := json.Marshal(v); !named && !failed && !strings.Contains(string(text), place) {
		return "nothing names it"
	}
	return ""
}

// wrong says what is wrong with the verdict if the nth call of a kind fails, and those after it too if on is set.
func (m *faultMachine) wrong(call string, n int, on bool, code syscall.Errno) string {
	at, first := 0, ""
	v, f := m.look(func(kind, name string) error {
		if kind != call {
			return nil
		}
		if at++; at < n || at > n && !on {
			return nil
		}
		if first == "" {
			first = name
		}
		return code
	})
	if why := unsaid(v, f, first, code); why != "" {
		return fmt.Sprintf("%s %d (%s) %t: %s: %s", call, n, first, on, code, why)
	}
	if v.Outcome == verdict.Inconclusive || v.Outcome == m.outcome {
		return ""
	}
	var rules []string
	for _, f := range v.Findings {
		if f.Severity == verdict.Error {
			rules = append(rules, f.Rule)
		}
	}
	// DESIGN.md: what this user cannot read, this user cannot import. That is proven if a file of the environment is refused,
	// and if it is not root who looks: no permission refuses root anything, so others may read what is closed to it.
	refused := code == syscall.EACCES || code == syscall.EPERM
	status, _ := os.ReadFile(filepath.Join(m.root, "proc/self/status"))
	byRoot := strings.Contains(string(status), "Uid:\t0\t0\t")
	inEnvironment := slices.ContainsFunc(f.Environments, func(e facts.Environment) bool { return strings.HasPrefix(first+"/", e.Path+"/") })
	if refused && inEnvironment && !byRoot && v.Outcome == verdict.Incompatible && !slices.ContainsFunc(rules, func(rule string) bool { return rule != "not-importable" }) {
		return ""
	}
	return fmt.Sprintf("%s %d (%s) %t: %s: %s %s", call, n, first, on, code, v.Outcome, strings.Join(rules, " "))
}
