package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the expected facts anew; read the difference before you commit it")

// childArg is what starts a program as that child.
const childArg = "__nvml"

// TestMain lets this program serve as the child that asks NVML, as a main function would. A program that does not
// must never be started so.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(unservedMark) == "":
		ServeNVML()
	case slices.Contains(os.Args, childArg):
		os.Exit(99)
	}
	os.Exit(m.Run())
}

// TestHosts reads every machine under testdata and compares the facts. An archive contains a machine's files, @env if
// it is running, @envs for --env, and @want.
func TestHosts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	hosttest.Must(t, err)
	if len(files) < 10 {
		t.Fatalf("%d hosts in testdata", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			hosttest.Must(t, err)
			facts := filesOf(t, archive)
			got := readable(t, facts)
			if *update {
				rewrite(t, file, archive, got)
			}
			want, _ := hosttest.Entry(archive, "@want")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
			hosttest.RoundTrip(t, facts)
		})
	}
}

// TestEverySourceHasATest checks that for each source a machine under testdata has a result, or a test calls the
// source.
func TestEverySourceHasATest(t *testing.T) {
	found := map[string]bool{}
	files, err := filepath.Glob("testdata/*.txtar")
	hosttest.Must(t, err)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		hosttest.Must(t, err)
		data, _ := hosttest.Entry(archive, "@want")
		var want struct{ Probes map[string][]string }
		hosttest.Must(t, json.Unmarshal([]byte(data), &want))
		for _, name := range want.Probes["ok"] {
			found[name] = true
		}
	}
	for _, s := range sources {
		function, dir := reflect.ValueOf(s.read), "."
		if s.readHost != nil {
			function = reflect.ValueOf(s.readHost)
		}
		pkg, reader, _ := strings.Cut(path.Base(runtime.FuncForPC(function.Pointer()).Name()), ".")
		if s.readHost != nil {
			dir = filepath.Join("internal", pkg)
		}
		if !found[s.name] && !namesInTests(t, dir)[reader] {
			t.Errorf("no test sees what the source %q finds: put its files into a machine of probe/testdata and run "+
				"`go test ./probe -run Hosts -update`, or call %s in a test", s.name, reader)
		}
	}
}

// filesOf returns the facts in the files of a host. NVML would describe the machine that runs the test.
func filesOf(t *testing.T, archive *txtar.Archive) Facts {
	t.Helper()
	envs, _ := hosttest.Entry(archive, "@envs")
	facts := runSources(context.Background(), hosttest.Host(t, archive), Options{Envs: strings.Fields(envs)})
	facts.Complete()
	facts.Anonymous()
	return facts
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, want string) {
	t.Helper()
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "@want" })
	archive.Files = append(archive.Files, txtar.File{Name: "@want", Data: []byte(want)})
	hosttest.Must(t, os.WriteFile(file, txtar.Format(archive), 0o644))
}

// readable returns Facts as JSON without empty values, and the status of the probes. It omits probes that found
// nothing, or that work only on a running machine; otherwise a new source would change the file of every machine.
func readable(t *testing.T, f Facts) string {
	t.Helper()
	probes := map[string][]string{}
	for i, s := range f.Probes {
		if s.Status == "absent" || s.Status == "skipped" && sources[i].live {
			continue
		}
		line := s.Name
		if s.Error != "" {
			line += ": " + s.Error
		}
		probes[s.Status] = append(probes[s.Status], line)
	}
	data, err := json.Marshal(f)
	hosttest.Must(t, err)
	var all map[string]any
	hosttest.Must(t, json.Unmarshal(data, &all))
	all["probes"] = probes
	delete(all, "schema")
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	hosttest.Must(t, e.Encode(withoutEmpty(all)))
	return out.String()
}

// withoutEmpty drops the keys that say nothing.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if v[key] = withoutEmpty(value); v[key] == nil {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	case float64:
		if v == 0 {
			return nil
		}
	}
	return v
}
