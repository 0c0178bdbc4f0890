package site

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"cudacompat/internal/tables/frozen"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/probe/facts"
)

var _ = frozen.Use()

// markdownOf renders one page of a small repository.
func markdownOf(t *testing.T, text string) string {
	t.Helper()
	b := &builder{Config: Config{Docs: fstest.MapFS{"docs/faq.md": {Data: []byte("# Questions")}, "docs/rules/driver-too-old.md": {Data: []byte("# x")}, "Makefile": {}},
		Repository: "https://example.test/project"}}
	html, err := b.markdown("docs/uses.md", "docs/uses/", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

// TestMarkdown checks that links between pages are the site's, that details fold, and that no other HTML of a page
// passes.
func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ name, text, want, without string }{
		{"page", "[a](faq.md#b)", `href="../../docs/faq/#b"`, ""},
		{"rule", "[a](rules/driver-too-old.md)", `href="../../rule/driver-too-old/"`, ""},
		{"file", "[a](../Makefile)", `href="https://example.test/project/blob/main/Makefile"`, ""},
		{"elsewhere", "[a](https://example.test/x)", `href="https://example.test/x"`, ""},
		{"details", "<details>\n<summary>more</summary>\n\ntext\n\n</details>\n", "<details>\n<summary>more</summary>\n<p>text</p>\n</details>", ""},
		{"script", "<script>alert(1)</script>\n\n<details onclick=x>\n", "", "alert"},
		{"inline", "a <img src=x onerror=y> b", "<p>a ", "onerror"},
		{"unsafe-link", "[a](javascript:alert(1))", "<a href=\"\"", "javascript"},
		{"table", "| a | b |\n|---|--:|\n| c | d |\n", "<td>c</td>", "style="},
		{"heading", "## What it means\n", `id="what-it-means"`, ""},
	} {
		got := markdownOf(t, c.text)
		if !strings.Contains(got, c.want) || c.without != "" && strings.Contains(got, c.without) {
			t.Errorf("%s: %q, want %q without %q", c.name, got, c.want, c.without)
		}
	}
}

// TestNotInTheProgram checks that the code which writes the site is not linked into the program.
func TestNotInTheProgram(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../../cmd/cudacompat").Output()
	if err != nil {
		t.Skip("go list: ", err)
	}
	for _, name := range []string{"html/template", "github.com/yuin/goldmark", "cudacompat/internal/site"} {
		if bytes.Contains(out, []byte(name+"\n")) {
			t.Errorf("cmd/cudacompat links %s", name)
		}
	}
}

// built returns a site of one framework, for the tests that read its files.
func built(t *testing.T) (string, *builder) {
	t.Helper()
	b := &builder{Config: Config{Tables: matrix.Embedded(), Docs: os.DirFS("../.."), Data: fstest.MapFS{}, Out: t.TempDir(), Wants: []string{"torch"},
		Site: "https://cudacompat.example", Repository: "https://example.test/project", Pythons: []string{}, Context: t.Context()}, redirects: map[string]string{}}
	if err := b.load(); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{b.assets, b.answers, b.enginePages, b.things, b.documents, b.tables, b.finish} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Out, b
}

var reference = regexp.MustCompile(`(?:href|src)="([^"#?]*)[^"]*"`)

// smallSize is how many bytes the site of built may have: what all pages share counts a thousand times.
const smallSize = 5_500_000

// TestPages follows every link of every page to a file, and checks that the first lines have the answers and no file
// comes from another origin.
func TestPages(t *testing.T) {
	out, b := built(t)
	missing := map[string]bool{}
	err := filepath.WalkDir(out, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".html" || filepath.Base(name) == "404.html" {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, m := range reference.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], ":") || strings.HasPrefix(m[1], "/") || m[1] == "" {
				continue
			}
			if strings.HasSuffix(m[1], "grid/") || strings.Contains(m[1], "data/") || strings.HasSuffix(m[1], "grid.json") {
				continue // are not part of this small site
			}
			to := filepath.Join(filepath.Dir(name), filepath.FromSlash(m[1]))
			if strings.HasSuffix(m[1], "/") {
				to = filepath.Join(to, "index.html")
			}
			if _, err := os.Stat(to); err != nil && !missing[to] {
				missing[to] = true
				t.Errorf("%s links to %s, which is not there", strings.TrimPrefix(name, out), m[1])
			}
		}
		if regexp.MustCompile(`(?:<script|<img|<link rel="stylesheet")[^>]*(?:src|href)="https?:`).Match(data) {
			t.Errorf("%s loads a file from another origin", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, words := range map[string]string{
		"gpu/p100/index.html":                            "the last, with driver",
		"gpu/V100/index.html":                            `url=../v100/"`,
		"gpu/gtx-680/index.html":                         `url=../gk104/"`,
		"gpu/GTX-680/index.html":                         `url=../gk104/"`,
		"gpu/gk104/index.html":                           "PyTorch for GPUs with GK104: no release in the tables runs on them",
		"gpu/gtx-680.json":                               `"PyTorch for GTX 680: no release in the tables runs on it"`,
		"gpu/k80/index.html":                             "PyTorch for K80: 2.",
		"torch/2.9.0/index.html":                         "plain pip install (cu128) needs driver",
		"driver/550/index.html":                          "is the newest that runs on it",
		"vllm/index.html":                                `<tr id="r0.11.0">`,
		"vllm/0.11.0/index.html":                         `url=../#r0.11.0"`,
		"instance/p5.48xlarge/index.html":                "PyTorch for p5.48xlarge: ",
		"rule/driver-too-old/index.html":                 `<link rel="canonical" href="https://cudacompat.example/rule/driver-too-old/">`,
		"xid/79/index.html":                              "Xid 79: ",
		"error/804/index.html":                           "CUDA error 804",
		"error/cudaerrorsystemdrivermismatch/index.html": "url=",
		"index.html":                                     "The newest torch by driver",
		"sitemap.xml":                                    "https://cudacompat.example/gpu/v100/",
	} {
		data, err := os.ReadFile(filepath.Join(out, file))
		if err != nil || !strings.Contains(string(data), words) {
			t.Errorf("%s does not have %q: %v", file, words, err)
		}
	}
	if size, err := Size(out); err != nil || size > smallSize {
		t.Errorf("the site of one framework has %d bytes, and may have %d: %v", size, smallSize, err)
	}
	var page thing
	data, err := os.ReadFile(filepath.Join(out, "gpu/v100.json"))
	if err != nil || json.Unmarshal(data, &page) != nil || page.Answer == "" || page.Date != b.Tables.Checked() || len(page.Source) == 0 {
		t.Errorf("gpu/v100.json: %v %+v", err, page)
	}
}

// TestSize checks that a site over the limit is refused, and that the engine is not counted.
func TestSize(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"index.html": 600, "gpu/l4.json": 400, "assets/" + engineFile: 5000} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkSize(dir, 1000); err != nil {
		t.Error(err)
	}
	if err := checkSize(dir, 999); err == nil || !strings.Contains(err.Error(), "1000 bytes without the engine") {
		t.Errorf("a site over the limit: %v", err)
	}
}

// TestEncode compares the compact data with the Space.
func TestEncode(t *testing.T) {
	known := matrix.Embedded()
	all := spaces(t.Context(), known, facts.System{}, []string{"jax"}, defaultPython)
	data := encode(known, all, defaultPython, false)
	s, w := all["jax"], data.Wants["jax"]
	n := 0
	for i, h := range data.Hosts {
		for _, name := range append(h.GPUs, h.Instances...) {
			g := s.Group(name)
			if g == nil || &s.Groups[w.Of[i]] != g {
				t.Errorf("%s is in the group %d", name, w.Of[i])
			}
			n++
		}
	}
	if n < 600 || len(w.Answers) != len(s.Answers) {
		t.Errorf("%d names, %d answers of %d", n, len(w.Answers), len(s.Answers))
	}
	for i, a := range s.Answers {
		for j, set := range a.Sets {
			row := w.Sets[w.Answers[i][0].([]any)[j].(int)]
			if row[0] != string(set.Choice) || data.Strings[row[7].(int)] != set.Why {
				t.Errorf("answer %d: %v for %+v", i, row, set)
			}
		}
	}
	if pin.DriverWord == "" {
		t.Error("no word for the driver")
	}
}

// TestRelative checks the way from a page to another.
func TestRelative(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"gpu/l4/", "gpu/l40/", "../l40/"}, {"gpu/l4/", "instance/g6.xlarge/", "../../instance/g6.xlarge/"}, {"vllm/0.11.0/", "vllm/#r0.11.0", "../#r0.11.0"},
		{"", "gpu/l4/", "gpu/l4/"}, {"gpu/l4/", "", "../../"}, {"", "", "./"}, {"vllm/", "vllm/", "./"}, {"docs/", "docs/faq/", "faq/"}, {"docs/faq/", "docs/", "../"},
		{"gpu/l4/", "assets/", "../../assets/"},
	} {
		if got := relative(c.from, c.to); got != c.want {
			t.Errorf("from %q to %q: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

// TestSlug checks that addresses are lower case with letters, digits and hyphens.
func TestSlug(t *testing.T) {
	for name, want := range map[string]string{"RTX PRO 6000": "rtx-pro-6000", "Tesla V100-SXM2-16GB": "tesla-v100-sxm2-16gb", "p5.48xlarge": "p5.48xlarge", " a/b ": "a-b"} {
		if got := slug(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"Tesla V100-SXM2-16GB": "V100", "GeForce RTX 5090": "RTX 5090", "H100 80GB HBM3": "H100", "A100-PCIE-40GB": "A100"} {
		if got := shortGPU(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
