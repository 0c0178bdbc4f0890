// Package wheel finds wheels on a package index and opens them. A wheel is a zip file. Its directory and the few
// members that matter are asked for by range, so that of a gigabyte one library comes over the wire, once, through the
// decompressor into a temporary file; a server that sends no parts is asked for the whole.
//
// An Index lists the files of a project, a Tag is what a file's name says, and Web waits and asks again where a server
// does not answer. Pip finds the index that this machine's pip uses.
package wheel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"html"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Index is a Python package index that speaks the simple API (PEP 503; PEP 691 for its JSON).
type Index struct {
	Address string // without the project: "https://…/simple"
	Web     *Web
}

// File is one wheel on an index.
type File struct {
	Name   string // "torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl"
	URL    string
	SHA256 string // empty where the index does not say
	Date   string // of the upload, "2026-07-22"; empty where the index does not say (PEP 700)
	Yanked bool   // withdrawn: installed only where it is asked for by its exact version
}

// MaxPage bounds an index's answer; TensorFlow's is 0.8 MB.
const MaxPage = 64 << 20

// SimpleTypes are the forms of a project's page, the best first.
const SimpleTypes = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"

// Files lists the wheels of one project.
func (i *Index) Files(ctx context.Context, project string) ([]File, error) {
	files, err := i.Archives(ctx, project)
	return slices.DeleteFunc(files, func(f File) bool { return !strings.HasSuffix(f.Name, ".whl") }), err
}

// Archives lists the wheels and the source archives of one project.
func (i *Index) Archives(ctx context.Context, project string) ([]File, error) {
	address := strings.TrimRight(i.Address, "/") + "/" + project + "/"
	answer, err := i.Web.Get(ctx, address, http.Header{"Accept": {SimpleTypes}})
	if err != nil {
		return nil, fmt.Errorf("the index has no page for %s: %w", project, err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(io.LimitReader(answer.Body, MaxPage))
	if err != nil {
		return nil, fmt.Errorf("the index's page for %s: %w", project, err)
	}
	return ParseFiles(project, answer.Header.Get("Content-Type"), page, answer.Request.URL)
}

// ParseFiles returns the files on a project's page.
func ParseFiles(project, form string, page []byte, at *url.URL) ([]File, error) {
	read := htmlFiles
	if strings.Contains(form, "json") {
		read = jsonFiles
	}
	files, err := read(page)
	if err != nil {
		return nil, fmt.Errorf("the index's page for %s: %w", project, err)
	}
	for n := range files {
		files[n].URL = resolve(at, files[n].URL)
	}
	return files, nil
}

// resolve makes an address absolute: pages may name their files relative to themselves.
func resolve(page *url.URL, address string) string {
	u, err := page.Parse(address)
	if err != nil {
		return address // the request for it will say what is wrong
	}
	u.Fragment = ""
	return u.String()
}

// jsonFiles reads a project's page in JSON:
//
// {"files": [{"filename": "x-1.0-py3-none-any.whl", "hashes": {"sha256": "…"}, "upload-time": "2026-07-22T…", "url":
// "…",
//
//	"yanked": false}, …], …}
//
// "yanked" is the reason where there is one.
func jsonFiles(page []byte) ([]File, error) {
	var list struct {
		Files []struct {
			Filename string
			URL      string
			Hashes   map[string]string
			Uploaded string `json:"upload-time"`
			Yanked   any
		}
	}
	if err := json.Unmarshal(page, &list); err != nil {
		return nil, err
	}
	var files []File
	for _, f := range list.Files {
		yanked := f.Yanked != nil && f.Yanked != false
		day, _, _ := strings.Cut(f.Uploaded, "T")
		files = append(files, File{Name: f.Filename, URL: f.URL, SHA256: f.Hashes["sha256"], Date: day, Yanked: yanked})
	}
	return files, nil
}

var (
	anchor     = regexp.MustCompile(`(?is)<a\s([^>]*)>([^<]*)</a>`)
	anchorHref = regexp.MustCompile(`(?is)\bhref\s*=\s*["']([^"']*)["']`)
	hashText   = regexp.MustCompile(`#sha256=([0-9a-f]{64})`)
)

// htmlFiles reads a project's page in HTML:
//
//	<a href="../../x-1.0-py3-none-any.whl#sha256=…" data-yanked="">x-1.0-py3-none-any.whl</a>
func htmlFiles(page []byte) ([]File, error) {
	var files []File
	for _, m := range anchor.FindAllSubmatch(page, -1) {
		href := anchorHref.FindSubmatch(m[1])
		if href == nil {
			continue
		}
		f := File{Name: strings.TrimSpace(html.UnescapeString(string(m[2]))), URL: html.UnescapeString(string(href[1]))}
		f.Yanked = strings.Contains(strings.ToLower(string(m[1])), "data-yanked")
		if sum := hashText.FindStringSubmatch(f.URL); sum != nil {
			f.SHA256 = sum[1]
		}
		files = append(files, f)
	}
	return files, nil
}

func (f File) hash() hash.Hash { return sha256.New() }

// check compares a whole file's hash with the index's.
func (f File) check(h hash.Hash) error {
	if sum := hex.EncodeToString(h.Sum(nil)); f.SHA256 != "" && sum != f.SHA256 {
		return fmt.Errorf("%s has sha256 %s; the index says %s", f.Name, sum, f.SHA256)
	}
	return nil
}

// Tag is the information in a wheel's name.
type Tag struct {
	Project  string // "jax_cuda12_plugin"
	Version  string // "0.9.2"
	Python   string // "3.12", "3.13t"; empty where any will do
	Platform string // as the tables say it, "linux_x86_64"; "any"; empty for other systems
	Glibc    string // "2.28"
	Local    string // "cu130" of 2.15.0+cu130: the variant, on an index that has more than one
}

var (
	NamePattern = regexp.MustCompile(`^([^-]+)-([^-]+)(?:-\d[^-]*)?-([^-]+)-([^-]+)-([^-]+)\.whl$`)
	pythonTag   = regexp.MustCompile(`^cp(\d)(\d+)$`)
	platformTag = regexp.MustCompile(`^(?:manylinux(?:_(\d+)_(\d+)|(\d+))|linux)_(x86_64|aarch64)$`)
)

// oldGlibc are the glibcs of the tags before PEP 600.
var oldGlibc = map[string]string{"1": "2.5", "2010": "2.12", "2014": "2.17"}

// Tag reads the wheel's name; ok is false for what is no wheel's name.
func (f File) Tag() (t Tag, ok bool) {
	m := NamePattern.FindStringSubmatch(path.Base(f.Name))
	if m == nil {
		return Tag{}, false
	}
	t = Tag{Project: m[1]}
	t.Version, t.Local, _ = strings.Cut(m[2], "+")
	if p := pythonTag.FindStringSubmatch(m[3]); p != nil && m[4] != "none" && m[4] != "abi3" {
		t.Python = p[1] + "." + p[2]
		if strings.HasSuffix(m[4], "t") {
			t.Python += "t"
		}
	}
	if m[5] == "any" {
		t.Platform = "any"
	}
	for tag := range strings.SplitSeq(m[5], ".") {
		if p := platformTag.FindStringSubmatch(tag); p != nil {
			t.Platform = "linux_" + p[4]
			if p[1] != "" {
				t.Glibc = p[1] + "." + p[2]
			} else {
				t.Glibc = oldGlibc[p[3]]
			}
		}
	}
	return t, true
}

// NameSeparators matches what separates the words of a project's name.
var NameSeparators = regexp.MustCompile(`[-_.]+`)

var projectFamily = regexp.MustCompile(`cu(?:da)?(\d\d)(?:0|x)?(?:_plugin)?$`)

// FindFamily returns the CUDA major version in a project's name, "12" for nvidia_nccl_cu12 and nvidia_dali_cuda120, or
// "".
func (t Tag) FindFamily() string {
	if m := projectFamily.FindStringSubmatch(t.Project); m != nil {
		return m[1]
	}
	return ""
}
