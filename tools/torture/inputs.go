//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/report/formats"
)

// A seed is a good input, and the command that reads it.
type seed struct {
	file string
	args []string // {} is the input
}

// seedCap keeps the mutations quick.
const seedCap = 300_000

// seedsOf finds the project's examples and the inputs of its tests.
func (b *bench) seedsOf() ([]seed, error) {
	if b.prepared.seeds != nil {
		return b.prepared.seeds, nil
	}
	err := filepath.WalkDir(b.project, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == ".git" || e.Name() == "fuzz") {
			return fs.SkipDir
		}
		relative, _ := filepath.Rel(b.project, name)
		args := readerOf(relative)
		if info, err := e.Info(); err == nil && args != nil && info.Mode().IsRegular() && info.Size() < seedCap {
			b.prepared.seeds = append(b.prepared.seeds, seed{name, args})
		}
		return nil
	})
	if err == nil && len(b.prepared.seeds) == 0 {
		err = fmt.Errorf("no examples: run it in the project's directory")
	}
	return b.prepared.seeds, err
}

// readerOf returns the command that reads such a file, nil for what none does.
func readerOf(name string) []string {
	at := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
	}
	switch {
	case !at("examples/", "testdata/"):
		return nil
	case at("/logs/", ".log"):
		return []string{"explain", "{}"}
	case strings.HasPrefix(name, "examples/") && strings.HasSuffix(name, ".yaml"):
		return []string{"check", "examples/collect_env/broken.txt", "--config", "{}"}
	case at("collect_env", "collectenv", ".lock", ".toml", "requirements", ".json"):
		return []string{"check", "{}", "--timeout", "5s"}
	}
	return nil
}

// inputCases returns the broken inputs of one round. The next round breaks them differently.
func inputCases(b *bench) ([]testCase, error) {
	seeds, err := b.seedsOf()
	if err != nil {
		return nil, err
	}
	var cases []testCase
	for _, s := range seeds {
		cases = append(cases, testCase{s.args[0] + " " + strings.TrimPrefix(s.file, b.project+"/"), s.broken})
	}
	return cases, nil
}

func (s seed) broken(b *bench) {
	data, err := os.ReadFile(s.file)
	if err != nil {
		b.tally.fault("crashes", "torture itself: %v", err)
		return
	}
	input := filepath.Join(b.dir, "mutated"+filepath.Ext(s.file))
	if err := os.WriteFile(input, b.mutate(data), 0o644); err != nil {
		b.tally.fault("crashes", "torture itself: %v", err)
		return
	}
	format := formats.All[b.random.IntN(len(formats.All))].Name
	if s.args[0] == "explain" {
		format = formats.All[b.random.IntN(2)].Name
	}
	args := []string{b.binary}
	for _, arg := range s.args {
		args = append(args, strings.ReplaceAll(arg, "{}", input))
	}
	d := demand{deadline: 5 * time.Second, codes: []int{0, 1, 3, 64}, json: format == "json" ||
		format == "sarif", command: s.args[0]}
	if format == "nagios" {
		d.codes = []int{0, 1, 2, 3, 64}
	}
	before := b.tally.faults()
	b.judge(order{Args: append(args, "-o", format)}, d)
	if b.tally.faults() > before { // to look at afterwards
		kept := filepath.Join(os.TempDir(), fmt.Sprintf("torture-input-%d%s", time.Now().UnixNano(), filepath.Ext(s.file)))
		if os.Rename(input, kept) == nil {
			fmt.Println("   kept as", kept)
		}
	}
}

// words that parsers stumble over.
var words = []string{"\x00", "\xff", `"`, "{", "[", "]", "}", ",", "-1", "99999999999999999999", "\n", `\`,
	"null", "1e999", "torch==", "\x1b[",
	"==", "2.9.0+cu130", "sm_", ":", "/", "..", "&a *a", "[[package]]\n", "\ufeff", "\u202e", "{}", "~=", "\r"}

func (b *bench) mutate(data []byte) []byte {
	for range 1 << b.random.IntN(7) {
		if len(data) == 0 {
			break
		}
		data = b.mutation(data)
	}
	return data
}

func (b *bench) mutation(data []byte) []byte {
	at := b.random.IntN(len(data))
	end := min(len(data), at+1+b.random.IntN(200))
	switch b.random.IntN(7) {
	case 0:
		data[at] = byte(b.random.Uint32())
		return data
	case 1, 2:
		return slices.Insert(data, at, []byte(words[b.random.IntN(len(words))])...)
	case 3:
		return slices.Delete(data, at, end)
	case 4:
		return slices.Insert(data, at, bytes.Clone(data[at:end])...)
	case 5:
		return data[:at]
	}
	lines := bytes.Split(data, []byte("\n"))
	one, other := b.random.IntN(len(lines)), b.random.IntN(len(lines))
	lines[one], lines[other] = lines[other], lines[one]
	return bytes.Join(lines, []byte("\n"))
}
