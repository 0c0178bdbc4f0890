package requires

import (
	"slices"
	"testing"
)

// TestRangesAreWords checks that a range ends with its last branch, or before the branch that follows.
func TestRangesAreWords(t *testing.T) {
	for _, c := range []struct {
		drivers Drivers
		want    string
	}{
		{Drivers{}, "none"},
		{Drivers{{}}, "any"},
		{Drivers{{From: "525.60.13"}}, ">= 525.60.13"},
		{Drivers{{From: "580"}}, ">= 580.65.06"},
		{Drivers{{From: "525.60.13", Before: "581"}}, "525.60.13 to branch 580"},
		{Drivers{{From: "580.65.06", Before: "581"}}, ">= 580.65.06 of branch 580"},
		{Drivers{{Before: "471"}}, "up to branch 470"},
		{Drivers{{Before: "575"}}, "< 575"},
		{Drivers{{From: "570.211.02", Before: "575"}, {From: "575.57.08"}}, ">= 570.211.02 and < 575, or >= 575.57.08"},
	} {
		if got := c.drivers.String(); got != c.want {
			t.Errorf("%v: %q, want %q", []Range(c.drivers), got, c.want)
		}
	}
}

// TestEitherJoinsRanges checks the union of two lists: ranges that touch or overlap become one.
func TestEitherJoinsRanges(t *testing.T) {
	for _, c := range []struct{ a, b, want Drivers }{
		{Drivers{}, Drivers{{From: "525"}}, Drivers{{From: "525"}}},
		{Drivers{{From: "570.133.20"}}, Drivers{{From: "570"}}, Drivers{{From: "570"}}},
		{Drivers{{From: "450", Before: "471"}}, Drivers{{From: "525", Before: "581"}}, Drivers{{From: "450", Before: "471"}, {From: "525", Before: "581"}}},
		{Drivers{{From: "525", Before: "575"}}, Drivers{{From: "575", Before: "581"}}, Drivers{{From: "525", Before: "581"}}},
		{Drivers{{From: "450"}}, Drivers{{From: "525", Before: "575"}}, Drivers{{From: "450"}}},
		{Drivers{{Before: "391"}}, Drivers{{}}, Drivers{{}}},
	} {
		if got := union(c.a, c.b); !slices.Equal(got, c.want) {
			t.Errorf("%v or %v: %v, want %v", c.a, c.b, []Range(got), []Range(c.want))
		}
	}
}

// TestGiven checks that an image which provides what is needed leaves the drivers that the artefact accepts then. An
// image of which less is known changes nothing.
func TestGiven(t *testing.T) {
	g := GPU{Drivers: Drivers{{"", "470"}}, Undecided: Drivers{{"470", "600"}, {"610", ""}},
		Provided: Drivers{{"", "580"}, {"610", "615"}}}
	needs := []string{"cuDNN 9"}
	got := g.Given(needs, []string{"cuDNN 9", "NCCL"})
	if got.Drivers.String() != g.Provided.String() {
		t.Errorf("drivers %v", got.Drivers)
	}
	if want := (Drivers{{"580", "600"}, {"615", ""}}); !slices.Equal(got.Undecided, want) {
		t.Errorf("undecided %v, want %v", got.Undecided, want)
	}
	if got := g.Given(needs, nil); !slices.Equal(got.Drivers, g.Drivers) || !slices.Equal(got.Undecided, g.Undecided) {
		t.Errorf("without it: %+v", got)
	}
}

// TestOnWindows checks that CUDA 13's minimum driver on Windows does not name the Linux release that begins the branch.
func TestOnWindows(t *testing.T) {
	for arch, want := range map[string]string{"x86_64": ">= 580.65.06", "aarch64": ">= 580.65.06", "win_amd64": ">= 580", "win_arm64": ">= 580"} {
		if got := (Drivers{{From: "580"}}).On(arch); got != want {
			t.Errorf("%s: %q, want %q", arch, got, want)
		}
	}
}
