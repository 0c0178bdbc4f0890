package needs

import (
	"bytes"
	"context"
	"encoding/xml"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/reporttest"
	"cudacompat/internal/version"
	"cudacompat/matrix"
	"cudacompat/matrix/requires"
	"cudacompat/probe"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// required returns the needs of lines in a requirements file.
func required(t *testing.T, lines string) Requires {
	t.Helper()
	f, err := probe.Given([]byte(lines))
	if err != nil {
		t.Fatal(err)
	}
	return Requires{Requirement: matrix.Requires(context.Background(), matrix.Embedded(), f, ""), Tool: report.Tool{Matrix: "2026-11-21", Tables: []matrix.TableSource{}}, Source: "requirements.txt", Facts: f}
}

func inFormat(t *testing.T, formats []report.Format[Requires], name string, r Requires) string {
	t.Helper()
	i := slices.IndexFunc(formats, func(f report.Format[Requires]) bool { return f.Name == name })
	var b strings.Builder
	if err := formats[i].Write(&b, r, layout.Style{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRequiresHoldsToItsSchema(t *testing.T) {
	schema := reporttest.CompileSchema(t, "../schema/requires-v1.json")
	r := required(t, "torch==2.9.0+cu130\n")
	reporttest.Validate(t, schema, inFormat(t, Formats, "json", r))
	old := required(t, "torch==2.7.0+cu118\n")
	diff := requires.Compare(old.Requirement, r.Requirement)
	r.Diff = &diff
	broken := requires.Supported{Target: "V100", Because: r.Needs[:1]}
	r.Supports = &requires.Supports{From: ".cudacompat.yaml", Targets: []requires.Supported{broken}}
	reporttest.Validate(t, schema, inFormat(t, DiffFormats, "json", r))
	trees := Trees{Trees: requires.Trees{Schema: requires.TreesSchema, Files: []requires.FileChange{{
		File: "a", State: "changed", Packages: requires.ComparePackages(old.Requirement, r.Requirement), Changes: diff.Changes,
		Targets: []requires.TargetChange{{Target: "V100"}}, Supports: []requires.Supported{broken},
		Images: []requires.ImageChange{{Old: "a", New: "b", NewRequire: "cuda>=13.0"}},
		Holds:  []requires.Hold{{Package: "torch", Newest: "2.7.0", Before: "2.9.0"}}, Unknown: []requires.Missing{},
	}}, Unread: []requires.UnreadFile{{File: "b", Reason: "x"}}}, Tool: r.Tool}
	var b bytes.Buffer
	if err := report.WriteJSON(&b, trees); err != nil {
		t.Fatal(err)
	}
	reporttest.Validate(t, reporttest.CompileSchema(t, "../schema/changes-v1.json"), b.String())
}

// TestBadge checks that the badge shows the oldest driver and is well-formed XML.
func TestBadge(t *testing.T) {
	for lines, want := range map[string]string{"torch==2.9.0+cu130\n": "≥ 580.65.06", "torch==2.9.0+cu126\n": "≥ 525.60.13",
		"numpy==2.0.0\n": "any", "torch==99.0.0\n": "unknown"} {
		svg := inFormat(t, Formats, "badge", required(t, lines))
		var picture struct {
			Title string `xml:"title"`
		}
		if err := xml.Unmarshal([]byte(svg), &picture); err != nil || picture.Title != "driver "+want {
			t.Errorf("%q: %q, %v, want %q", lines, picture.Title, err, want)
		}
	}
}

// TestTreesCommentIsText checks that names and versions from a pull request appear in the comment only as text: no
// mention, link, image or tag.
func TestTreesCommentIsText(t *testing.T) {
	hostile := "a`@x[y](https://z)<img src=q>\n::error::\x1b[31m|"
	var b bytes.Buffer
	if err := treesMarkdown(&b, Trees{Trees: requires.Trees{Files: []requires.FileChange{{File: hostile, State: "changed",
		Packages: []requires.PackageChange{{Name: hostile, Old: hostile, New: hostile}},
		Supports: []requires.Supported{{Target: hostile}},
		Holds:    []requires.Hold{{Package: hostile, Newest: "1", Before: hostile}}}},
		Unread: []requires.UnreadFile{{File: hostile, Reason: hostile}}}}, layout.Style{}); err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert(b.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{"<a ", "<img", " @x", ">@x", "\x1b", "\n::"} {
		text := codeElement.ReplaceAllString(page.String(), "")
		if strings.Contains(text, mark) {
			t.Errorf("%q is in %q", mark, text)
		}
	}
	if count := strings.Count(page.String(), "<li>"); count != 3 { // two files and what the first breaks
		t.Errorf("%d entries in %s", count, page.String())
	}
}

// codeElement matches what stands in code.
var codeElement = regexp.MustCompile("(?s)<code[^>]*>.*?</code>")

// host is a host for which an expression in a dialect (CEL, NVIDIA_REQUIRE_CUDA and others) is evaluated.
type host struct{ capability, name, driver, arch string }

// dialectReaders read a dialect back and tell whether it admits a host: small readers of the same words, by the
// documents of the programs that are meant.
var dialectReaders = map[string]func(t *testing.T, text string, h host) bool{
	"nvidia-require": readRequire, "cel": readCEL, "nodeaffinity": readAffinity,
}

// TestNoDialectAdmitsMore reads each dialect back, host by host: CEL and node affinity admit what the JSON admits and
// nothing else. NVIDIA_REQUIRE_CUDA admits that, and beyond it only hosts whose driver does not know their GPU, which
// no need of a build refuses: such a driver shows the runtime no GPU.
func TestNoDialectAdmitsMore(t *testing.T) {
	drivers := strings.Fields("440.33.01 450.80.01 450.80.02 470.256.02 520.61.05 525.60.12 525.60.13 530.30.02 535.183.01 550.54.14 570.86.10 " +
		"570.133.20 570.211.02 575.57.07 575.57.08 575.64.06 580.65.06 580.142.01 590.48.01 615.10.01")
	for _, lines := range []string{"torch==2.9.0+cu130\n", "torch==2.7.0+cu118\n", "tensorflow[and-cuda]==2.20.0\n",
		"tensorflow==2.11.1\nnvidia-cudnn-cu11==8.6.0.163\n"} {
		r := required(t, lines)
		for name, reads := range dialectReaders {
			text := inFormat(t, Formats, name, r)
			if len(text) > 10<<10 && name == "cel" { // CELSelectorExpressionMaxLength of k8s.io/api/resource/v1
				t.Errorf("%s: %d bytes of CEL: the API takes 10 KiB", lines, len(text))
			}
			admitted := 0
			for _, g := range r.GPUs {
				for _, gpu := range append(g.Names[:min(len(g.Names), 2):min(len(g.Names), 2)], g.Capability) {
					if gpu == g.Capability && len(g.Names) > 0 || name != "nodeaffinity" && name != "cel" && g.Arch != "x86_64" {
						continue
					}
					for _, driver := range drivers {
						admits, may := reads(t, text, host{g.Capability, gpu, driver, g.Arch}), g.Admits(driver)
						if name == "nvidia-require" && admits && !may && !refusedByBuild(r, g, driver) {
							continue
						}
						if admits != may {
							t.Fatalf("%s in %s: admits %s with driver %s: %v, the JSON: %v\n%s", lines, name, gpu, driver, admits, may, text)
						}
						if admits {
							admitted++
						}
					}
				}
			}
			if admitted == 0 {
				t.Errorf("%s in %s admits nothing:\n%s", lines, name, text)
			}
		}
	}
}

// refusedByBuild reports whether a build needs another driver or another GPU.
func refusedByBuild(r Requires, g requires.GPU, driver string) bool {
	return slices.ContainsFunc(r.Needs, func(n requires.Need) bool {
		return n.Subject != "" && !n.Drivers.Has(driver) &&
			slices.ContainsFunc(append(g.Names, g.Capability), func(name string) bool { return n.HoldsFor(g.Capability, name) })
	})
}

// body returns a dialect's text without its comments.
func body(text, comment string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, comment) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

var requireTerm = regexp.MustCompile(`^(arch|driver)(>=|<|=)([\d.]+)$`)

func readRequire(t *testing.T, text string, h host) bool {
	value, ok := strings.CutPrefix(body(text, "#"), "NVIDIA_REQUIRE_CUDA=")
	if !ok {
		t.Fatalf("no variable: %s", text)
	}
	return slices.ContainsFunc(strings.Fields(value), func(term string) bool {
		return !slices.ContainsFunc(strings.Split(term, ","), func(one string) bool {
			m := requireTerm.FindStringSubmatch(one)
			if m == nil {
				t.Fatalf("not understood: %q", one)
			}
			c := version.CompareTexts(map[string]string{"arch": h.capability, "driver": h.driver}[m[1]], m[3])
			return !map[string]bool{">=": c >= 0, "<": c < 0, "=": c == 0}[m[2]]
		})
	})
}

var (
	celVersion = regexp.MustCompile(`^gpu\.(cudaComputeCapability|driverVersion)\.compareTo\(semver\("(\d+\.\d+\.\d+)"\)\) (>=|<|==) 0$`)
	celProduct = regexp.MustCompile(`^(!\()?gpu\.productName in \[(.*)\]\)?$`)
	zeroLed    = regexp.MustCompile(`semver\("[^"]*\.0\d`)
)

func readCEL(t *testing.T, text string, h host) bool {
	if zeroLed.MatchString(text) {
		t.Fatalf("a version with a leading zero: %s", text)
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(text, celHead), "\n)\n")
	return slices.ContainsFunc(strings.Split(inner, " ||\n"), func(term string) bool {
		term = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(term), "("), ")")
		return !slices.ContainsFunc(strings.Split(term, " && "), func(one string) bool { return !celHolds(t, one, h) })
	})
}

func celHolds(t *testing.T, one string, h host) bool {
	if m := celProduct.FindStringSubmatch(one); m != nil {
		return strings.Contains(m[2], strconv.Quote("NVIDIA "+h.name)) != (m[1] != "")
	}
	m := celVersion.FindStringSubmatch(one)
	if m == nil {
		t.Fatalf("not understood: %q", one)
	}
	c := version.CompareTexts(map[string]string{"cudaComputeCapability": h.capability, "driverVersion": h.driver}[m[1]], m[2])
	return map[string]bool{">=": c >= 0, "<": c < 0, "==": c == 0}[m[3]]
}

var affinityLine = regexp.MustCompile(`\{key: (\S+), operator: (In|NotIn|Gt|Lt|DoesNotExist)(?:, values: \[(.*)\])?\}`)

func readAffinity(t *testing.T, text string, h host) bool {
	v, major, minor := version.ParseOrZero(h.driver), "", ""
	major, minor, _ = strings.Cut(h.capability, ".")
	parts := append(strings.Split(h.driver, "."), "", "")
	labels := map[string]string{"kubernetes.io/arch": map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[h.arch],
		labelCapability + "major": major, labelCapability + "minor": minor,
		labelDriver + "major": strconv.Itoa(v.Major()), labelDriver + "minor": parts[1], labelDriver + "revision": parts[2],
		labelProduct: "NVIDIA-" + strings.ReplaceAll(strings.NewReplacer("(", "", ")", "").Replace(h.name), " ", "-")}
	_, terms, _ := strings.Cut(text, "nodeSelectorTerms:\n")
	return slices.ContainsFunc(strings.Split(terms, "- matchExpressions:\n")[1:], func(term string) bool {
		lines := affinityLine.FindAllStringSubmatch(term, -1)
		if len(lines) == 0 {
			t.Fatalf("not understood: %q", term)
		}
		return !slices.ContainsFunc(lines, func(m []string) bool {
			have, values := labels[m[1]], strings.Split(strings.ReplaceAll(m[3], `"`, ""), ", ")
			n, err := strconv.Atoi(have)
			bound, _ := strconv.Atoi(values[0])
			return !map[string]bool{"In": slices.Contains(values, have), "NotIn": !slices.Contains(values, have), "DoesNotExist": have == "", "Gt": err == nil && n > bound, "Lt": err == nil && n < bound}[m[2]]
		})
	})
}

// TestFloorOfAProductIsThatProducts: the first driver for the RTX PRO 4500 Server Edition, 580.142, keeps off no other
// GPU of capability 12.0, and not this one where it is cut into MIG devices and its label says so.
func TestFloorOfAProductIsThatProducts(t *testing.T) {
	r := required(t, "torch==2.9.0+cu130\n")
	affinity, variable := inFormat(t, Formats, "nodeaffinity", r), inFormat(t, Formats, "nvidia-require", r)
	for _, c := range []struct {
		gpu, driver                string
		affinity, variable, slices bool
	}{
		{"GeForce RTX 5090", "580.65.06", true, true, false},
		{"RTX PRO 6000 Blackwell Server Edition", "580.95.05", true, true, false},
		{"GeForce RTX 5090", "575.64.06", false, false, false},
		{"RTX PRO 4500 Blackwell Server Edition", "580.95.05", false, true, false}, // the driver does not show it
		{"RTX PRO 4500 Blackwell Server Edition", "580.142.01", true, true, false},
		{"RTX PRO 4500 Blackwell Server Edition MIG 1g.16gb", "580.95.05", false, true, true},
		{"RTX PRO 4500 Blackwell Server Edition MIG 1g.16gb", "580.142.01", true, true, true},
	} {
		h := host{"12.0", c.gpu, c.driver, "x86_64"}
		text := affinity
		if c.slices { // as a node with the label
			text = strings.ReplaceAll(text, "{key: "+labelSlices+", operator: DoesNotExist}", "{key: "+labelProduct+", operator: In, values: []}")
		}
		if got := readAffinity(t, text, h); got != c.affinity {
			t.Errorf("nodeaffinity: %s with driver %s: %v", c.gpu, c.driver, got)
		}
		if got := readRequire(t, variable, h); got != c.variable {
			t.Errorf("nvidia-require: %s with driver %s: %v", c.gpu, c.driver, got)
		}
	}
	if want := "# RTX PRO 4500 Blackwell Server Edition (12.0) needs driver >= 580.142, which is left to the driver\n"; !strings.Contains(variable, want) {
		t.Errorf("%s\nwant %s", variable, want)
	}
}

// TestDialectsSayNothingOfTheUnknown: a scheduler that was told nothing would take any host.
func TestDialectsSayNothingOfTheUnknown(t *testing.T) {
	r := required(t, "torch==2.9.0+cu130\n")
	r.Unknown = []requires.Missing{{Rule: "not-looked-at", Subject: "/venv", MissingFact: requires.Statement("permission denied")}}
	for _, f := range Formats[2:] {
		var b strings.Builder
		err := f.Write(&b, r, layout.Style{})
		if f.Name == "markdown" || f.Name == "badge" { // people read them
			if err != nil || !strings.Contains(b.String(), "unknown") && !strings.Contains(b.String(), "No host can be named") {
				t.Errorf("%s writes %q, %v", f.Name, b.String(), err)
			}
			continue
		}
		if err == nil || b.Len() > 0 {
			t.Errorf("%s writes %q", f.Name, b.String())
		}
	}
}

// TestDiffSaysEachCauseOnce: a bump's screen and annotations name what makes it once, with all that it changes; what is
// not known is no error, even where a named host is lost.
func TestDiffSaysEachCauseOnce(t *testing.T) {
	bump := func(old, now string, targets ...requires.TargetChange) Requires {
		r := required(t, now)
		diff := requires.Compare(required(t, old).Requirement, r.Requirement)
		diff.Targets = targets
		r.Diff = &diff
		return r
	}
	torch := bump("torch==2.9.0+cu128\n", "torch==2.9.0+cu130\n")
	text := inFormat(t, DiffFormats, "text", torch)
	for _, want := range []string{"the new one instead of the old one: does not run on 20 GPU products any more; runs with fewer drivers on ",
		"driver 525.60.13 to branch 580 before, no driver now (driver-too-old, gpu-arch-missing)",
		"driver >= 570.211.02 and < 575, or >= 575.57.08 before, driver >= 580.65.06 now (driver-too-old)",
		"torch 2.9.0+cu130 (line 1) needs driver >= 580.65.06 (CUDA 13 in minor_compat.csv)"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("not once in the screen: %q\n%s", want, text)
		}
	}
	if n := strings.Count(inFormat(t, DiffFormats, "github", torch), "::warning file=requirements.txt,line=1"); n != 2 {
		t.Errorf("%d annotations of two causes", n)
	}
	lost := requires.TargetChange{Target: "g4dn.xlarge, driver 570.133.20", Old: true}
	github := inFormat(t, DiffFormats, "github", bump("onnxruntime-gpu==1.26.0\n", "onnxruntime-gpu==1.29.0\n", lost))
	for _, want := range []string{"::error title=cudacompat requires::the new one does not run on g4dn.xlarge, driver 570.133.20, where the old one did",
		"::error file=requirements.txt,line=1,title=driver-too-old", "::error file=requirements.txt,line=1,title=gpu-arch-missing",
		"::warning file=requirements.txt,line=1,title=extension-mismatch"} {
		if strings.Count(github, want) != 1 {
			t.Errorf("not once in the annotations: %q\n%s", want, github)
		}
	}
}

// TestWhatRefusesEveryHostIsSaid: where one need is met by no host, the first sentence is that need.
func TestWhatRefusesEveryHostIsSaid(t *testing.T) {
	r := Requires{Requirement: requires.Requirement{Builds: []requires.Build{{Subject: "torch 2.9.0 in /venv"}},
		GPUs:  []requires.GPU{{Capability: "9.0", Names: []string{"H100"}, Because: []string{"not-importable"}}},
		Needs: []requires.Need{{Rule: "not-importable", Subject: "torch 2.9.0 in /venv", Need: "nothing in /venv can start"}}}}
	if got, want := inFormat(t, Formats, "text", r), "requires: no GPU in the tables can run this: torch 2.9.0 in /venv: nothing in /venv can start\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestHostWordsSayArm checks that the headline says so if only Arm hosts are sufficient.
func TestHostWordsSayArm(t *testing.T) {
	arm := hostGroup{arch: "aarch64", capabilities: []string{"9.0"}, drivers: requires.Drivers{{From: "580.65.06"}}}
	x86 := arm
	x86.arch = "x86_64"
	if got, want := hostWords([]hostGroup{arm}), " and a GPU of compute capability 9.0 on an Arm host"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
	if got := hostWords([]hostGroup{arm, x86}); strings.Contains(got, "Arm") {
		t.Errorf("%q of both kinds of hosts", got)
	}
}
