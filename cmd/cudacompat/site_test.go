package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRuleURL checks that every command that prints findings as JSON adds the address of the rule's page if the build
// has a site, and no such field otherwise.
func TestRuleURL(t *testing.T) {
	facts, err := os.ReadFile("../../examples/facts/driver-mismatch.json")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "train.log")
	if err := os.WriteFile(log, []byte("RuntimeError: CUDA error: no kernel image is available for execution on the device\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer func(was string) { site = was }(site)
	for _, args := range [][]string{
		{"check", "../../examples/facts/driver-mismatch.json"},
		{"fleet", "../../examples/facts/driver-mismatch.json"},
		{"explain", log, "--facts", "../../examples/facts/driver-mismatch.json"},
	} {
		for _, site = range []string{"", "https://cudacompat.example/"} {
			var out, errs bytes.Buffer
			run(append(args, "-o", "json"), streams{in: bytes.NewReader(facts), out: &out, err: &errs})
			var document any
			if err := json.Unmarshal(out.Bytes(), &document); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, errs.String())
			}
			findings, urls := 0, 0
			for _, f := range objectsWith(document, "severity") {
				findings++
				url, has := f["url"].(string)
				if has {
					urls++
				}
				if want := "https://cudacompat.example/rule/" + f["rule"].(string) + "/"; site != "" && url != want {
					t.Errorf("%v: the URL of %v is %q, want %q", args, f["rule"], url, want)
				}
			}
			if findings == 0 || site == "" && (urls > 0 || strings.Contains(out.String(), `"url"`)) {
				t.Errorf("%v with the site %q: %d findings, %d with a URL", args, site, findings, urls)
			}
		}
	}
}

// objectsWith returns the objects of a JSON document that have a field.
func objectsWith(value any, field string) []map[string]any {
	var list []map[string]any
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			list = append(list, objectsWith(item, field)...)
		}
	case map[string]any:
		if _, ok := v[field]; ok {
			list = append(list, v)
		}
		for _, item := range v {
			list = append(list, objectsWith(item, field)...)
		}
	}
	return list
}
