// Command texts writes the requests on which the page's engine is tested, one a line: the public cases in the named
// directories, the texts for check, the logs for explain, and the machines of matrix.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cudacompat/internal/cases"

	"golang.org/x/tools/txtar"
)

// request is what a page asks; name is for people.
type request struct {
	Name    string `json:"name"`
	Text    string `json:"text"`
	Old     string `json:"old,omitempty"`
	Compare bool   `json:"compare,omitempty"`
	Driver  string `json:"driver,omitempty"`
	GPU     string `json:"gpu,omitempty"`
}

// writer writes requests, and remembers the first error.
type writer struct {
	out *json.Encoder
	err error
}

func (w *writer) add(r request) {
	if err := w.out.Encode(r); w.err == nil {
		w.err = err
	}
}

func main() {
	w := &writer{out: json.NewEncoder(os.Stdout)}
	w.out.SetEscapeHTML(false)
	for _, dir := range os.Args[1:] {
		for _, name := range matches(filepath.Join(dir, "*.jsonl")) {
			w.lines(name, 0)
		}
	}
	w.fixtures()
	w.changes()
	w.lines("internal/logs/testdata/cases.jsonl", 7)
	w.machines()
	if w.err != nil {
		fmt.Fprintln(os.Stderr, "texts:", w.err)
		os.Exit(1)
	}
}

func matches(pattern string) []string {
	names, _ := filepath.Glob(pattern) // the patterns are well formed
	return names
}

func (w *writer) read(name string) []byte {
	data, err := os.ReadFile(name)
	if w.err == nil {
		w.err = err
	}
	return data
}

// lines adds the texts of cases, one case a line. Of a long list every so manieth is enough; 0 takes all.
func (w *writer) lines(name string, every int) {
	n := 0
	for line := range bytes.Lines(w.read(name)) {
		if n++; every > 0 && n%every != 1 {
			continue
		}
		var c struct {
			ID  string            `json:"id"`
			Env string            `json:"collect_env"`
			Log string            `json:"log"`
			All map[string]string `json:"texts"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			w.err = fmt.Errorf("%s, line %d: %w", name, n, err)
			return
		}
		both := c.Env
		if c.Log != "" && c.Env != "" {
			both = c.Env + "\n\n" + c.Log // a thread
		}
		for _, text := range []string{both, c.Log} {
			if text != "" {
				w.add(request{Name: c.ID, Text: text})
			}
		}
		for what, text := range c.All {
			w.add(request{Name: c.ID + " " + what, Text: text})
		}
	}
}

// fixtures adds the files that check and explain are tried on, and those in the scripts of the program.
func (w *writer) fixtures() {
	for _, pattern := range []string{"examples/collect_env/*", "examples/facts/*.json", "examples/logs/*", "probe/internal/input/testdata/samples/*",
		"probe/internal/input/collectenv/testdata/*", "internal/logs/testdata/logs/*"} {
		for _, name := range matches(pattern) {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				w.add(request{Name: name, Text: string(w.read(name))})
			}
		}
	}
	for _, name := range matches("cmd/cudacompat/testdata/script/*") {
		for _, f := range txtar.Parse(w.read(name)).Files {
			if len(f.Data) > 0 && !strings.HasPrefix(filepath.Base(f.Name), "want") {
				w.add(request{Name: name + " " + f.Name, Text: string(f.Data), Driver: "550.90.07", GPU: "L4"})
			}
		}
	}
}

// changes adds what a change costs, between neighbours of the list.
func (w *writer) changes() {
	releases := []string{"torch==1.13.1", "torch==2.3.1", "torch==2.9.0", "torch==2.14.1", "vllm==0.11.0", "jax==0.6.2", "tensorflow==2.19.0"}
	for i, text := range releases[1:] {
		w.add(request{Name: releases[i] + " → " + text, Old: releases[i] + "\n", Text: text + "\n", Compare: true})
	}
	samples := "probe/internal/input/testdata/samples/"
	w.add(request{Name: "two locks", Old: string(w.read(samples + "poetry.lock")), Text: string(w.read(samples + "pixi.lock")), Compare: true, GPU: "V100,L4"})
}

// machines adds the facts of every case of matrix, and those of three nodes together.
func (w *writer) machines() {
	var fleet bytes.Buffer
	err := filepath.WalkDir("matrix/testdata", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		var facts []byte
		switch filepath.Ext(name) {
		case ".txtar":
			facts, err = cases.Facts("matrix/testdata/machines", txtar.Parse(w.read(name)))
		case ".json":
			if strings.Contains(name, "/situations/") {
				facts = w.read(name)
			}
		}
		if err != nil || facts == nil {
			return err
		}
		w.add(request{Name: name, Text: string(facts)})
		var line bytes.Buffer
		if json.Compact(&line, facts) == nil && fleet.Len() < 200_000 && bytes.HasPrefix(line.Bytes(), []byte(`{"schema":"cudacompat/facts/v1"`)) {
			fmt.Fprintf(&fleet, "{\"node\":%q,\"facts\":%s}\n", filepath.Base(name), line.Bytes())
		}
		return nil
	})
	if w.err == nil {
		w.err = err
	}
	w.add(request{Name: "a fleet", Text: fleet.String()})
}
