package artefact

import (
	"strings"
	"testing"

	"cudacompat/tools/artefact/wheel"
)

func TestReleaseIn(t *testing.T) {
	for name, want := range map[string]string{
		"deepspeed-0.19.8.tar.gz":                                    "0.19.8",
		"flash_attn-2.8.3.post2.tar.gz":                              "2.8.3.post2",
		"xformers-0.0.35-py39-none-manylinux_2_28_x86_64.whl":        "0.0.35",
		"torch_scatter-2.1.2+pt20cu118-cp311-cp311-linux_x86_64.whl": "2.1.2",
		"tensorrt_llm-1.2.1.zip":                                     "1.2.1",
		"deepspeed-0.19.8.exe":                                       "",
	} {
		if got := releaseIn(name); got != want {
			t.Errorf("releaseIn(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestNeverRead checks that a source which was never read fails after its day, and at once without one.
func TestNeverRead(t *testing.T) {
	list := []Listed{{ID: "a", Reader: Watching}, {ID: "b", Reader: Watching, ReadBy: "2026-12-31"},
		{ID: "c", Reader: Watching, ReadBy: "2026-01-01"}, {ID: "d", Reader: typed}}
	got := Lock{}.neverRead(list, "2026-11-29")
	if len(got) != 2 {
		t.Fatalf("complaints %q, want one of a and one of c", got)
	}
	if got := (Lock{}).neverRead(list, "2027-01-01"); len(got) != 3 {
		t.Errorf("complaints %q after the day, want three", got)
	}
}

// TestEveryPackageIsWatched checks that a package that no source names is complained about.
func TestEveryPackageIsWatched(t *testing.T) {
	d, err := OpenData("../../data")
	if err != nil {
		t.Fatal(err)
	}
	list, err := ReadSources("../../data")
	if err != nil {
		t.Fatal(err)
	}
	if got := d.unwatched(list); len(got) > 0 {
		t.Errorf("not watched: %q", got)
	}
	for i, l := range list {
		if l.ID == "deepspeed" {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if got := d.unwatched(list); len(got) != 1 {
		t.Errorf("without deepspeed's source: %q, want one complaint", got)
	}
}

// TestWindowsRows finds what has no wheel for Windows, since when, and what must leave the list.
func TestWindowsRows(t *testing.T) {
	named := func(name string) wheel.File { return wheel.File{Name: name, SHA256: "0123"} }
	s := &Source{lists: map[string][]wheel.File{
		"none":  {named("none-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"), named("none-2.0-cp312-cp312-manylinux_2_28_x86_64.whl")},
		"older": {named("older-1.0-py3-none-any.whl"), named("older-1.5-cp312-cp312-win_amd64.whl"), named("older-2.0-cp312-cp312-manylinux_2_28_x86_64.whl")},
	}}
	rows, err := ReadWindows(t.Context(), s, Listed{Projects: []string{"none", "older"}})
	if err != nil || len(rows) != 2 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if got := rows[0]; got.Cells["releases"] != "" || got.Sources["none"] != "wheel none-2.0-cp312-cp312-manylinux_2_28_x86_64.whl sha256:0123" {
		t.Errorf("%+v", got)
	}
	if got := rows[1].Cells["releases"]; got != ">1.5" {
		t.Errorf("since %q, want >1.5", got)
	}
	s.lists["none"] = append(s.lists["none"], named("none-2.0-cp312-cp312-win_amd64.whl"))
	s.lists["source"] = []wheel.File{named("source-1.0.tar.gz")}
	_, err = ReadWindows(t.Context(), s, Listed{Projects: []string{"none", "older", "source"}})
	if err == nil || !strings.Contains(err.Error(), "take out none, source") {
		t.Errorf("%v", err)
	}
}
