package formats

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/internal/report/reporttest"
	"cudacompat/matrix/verdict"

	"github.com/google/go-cmp/cmp"
)

// annotation is a parsed workflow command.
type annotation struct{ Command, Title, Message string }

var commandForm = regexp.MustCompile(`^::(error|warning|notice) title=([^:,]+)::(.+)$`)

// readGitHub parses lines as the runner does: the command, its properties up to the next "::", with escapes undone.
func readGitHub(t *testing.T, text string) []annotation {
	t.Helper()
	data := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%")
	property := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	var list []annotation
	for line := range strings.Lines(text) {
		m := commandForm.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("no workflow command: %q", line)
		}
		list = append(list, annotation{m[1], property.Replace(m[2]), data.Replace(m[3])})
	}
	return list
}

// TestGitHubIsRead parses the commands of every case: the verdict first, then every finding, waived ones last.
func TestGitHubIsRead(t *testing.T) {
	for name, r := range reporttest.Cases(t, "../testdata") {
		t.Run(name, func(t *testing.T) {
			got := readGitHub(t, reporttest.Show(t, All, r, "github", layout.Style{}))
			want := []annotation{{verdictKind[r.Outcome], "cudacompat", plaintext.FormatHeadline(r)}}
			for _, f := range r.Findings {
				want = append(want, annotation{AnnotationKinds[f.Severity], layout.Clean(f.Rule + ": " + f.Subject + layout.NameTargets(layout.AppendUnique(nil, f.Target))),
					plaintext.FormatDetails(r, f)})
			}
			if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for i, s := range r.Suppressed {
				waived := got[len(got)-len(r.Suppressed)+i]
				if waived.Command != "notice" || !strings.HasPrefix(waived.Message, "waived: "+s.Reason) ||
					!strings.Contains(waived.Message, s.Until) {
					t.Errorf("waived finding as %+v", waived)
				}
			}
		})
	}
}

// TestGitHubCannotBeInjected puts the runner's syntax into every string. There must be no further command, and no
// property may end early.
func TestGitHubCannotBeInjected(t *testing.T) {
	for _, hostile := range []string{"\n::stop-commands::x", "\r\n::set-env name=PATH::/tmp", "##[error]x", "::error::x",
		"x,file=/etc/passwd", "%0A::error::x", "a%250Ab"} {
		got, plain := readGitHub(t, reporttest.Show(t, All, undecidedAll(hostile), "github", layout.Style{})),
			readGitHub(t, reporttest.Show(t, All, undecidedAll("x"), "github", layout.Style{}))
		if len(got) != len(plain) {
			t.Errorf("%q makes %d commands of %d", hostile, len(got), len(plain))
		}
		if !strings.Contains(got[1].Title, layout.Clean(hostile)) {
			t.Errorf("%q was read back as %q", hostile, got[1].Title)
		}
		for _, a := range got {
			if i := strings.IndexFunc(a.Message, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 {
				t.Errorf("%q leaves a character that does not show in %q", hostile, a.Message)
			}
			if strings.Contains(a.Message, "\n::") {
				t.Errorf("%q begins a line of %q", hostile, a.Message)
			}
		}
	}
}

// undecidedAll returns a report of hostile strings with everything it can contain, including missing facts.
func undecidedAll(s string) report.Report {
	r := reporttest.Fill(s, verdict.Inconclusive)
	r.Answers[0].Counts = true
	return r
}
