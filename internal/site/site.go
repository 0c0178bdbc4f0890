// Package site writes the web site: static files that work from any directory, without a server and without another
// origin. Only the box that reads what people type needs JavaScript. Package offer provides the answers.
package site

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/matrix"
	"cudacompat/matrix/pin"
)

//go:embed assets templates
var files embed.FS

// Config says what the site is made from and where it goes.
type Config struct {
	Out        string          // the directory that is written
	Tables     *matrix.Tables  // the knowledge
	Docs       fs.FS           // the repository's root, with README.md and docs/
	Data       fs.FS           // the tables' files
	Site       string          // where the site will be, "https://cudacompat.example"; empty: not known
	Repository string          // where the project is, "https://github.com/OWNER/cudacompat"; empty: not known
	Wants      []string        // empty: all
	Pythons    []string        // beside the first view's, in files of their own
	Engine     []byte          // the program as built for a page, which judges a paste; nil: the pages come without it
	Loader     []byte          // Go's script that starts it
	Context    context.Context // ends the work
}

// builder writes one site.
type builder struct {
	Config
	pages     *template.Template
	written   []string // addresses of pages, for the sitemap and the search
	index     []entry
	redirects map[string]string
	spaces    map[string]pin.Space
	data      pageData
	grid      grid
}

// entry is one page in the search.
type entry struct {
	Title string `json:"t"`
	Path  string `json:"p"`
	Words string `json:"w,omitempty"` // other names
}

// page is what the layout shows.
type page struct {
	Title       string
	Description string
	Path        string // "gpu/v100/"; empty: the start page
	Body        any
	Date        string
	Site        string
	Repository  string
	Question    string // for "this is wrong"
	JSON        string // the same as data, beside the page
	Scripts     []string
	Wide        bool
	Engine      bool // whether the page runs the engine
}

// Root returns the way from the page to the site's root: "../../".
func (p page) Root() string {
	if n := strings.Count(p.Path, "/"); n > 0 {
		return strings.Repeat("../", n)
	}
	return "./"
}

// To returns the way from the page to another address of the site: "../l40/" from "gpu/l4/" to "gpu/l40/".
func (p page) To(address string) string { return relative(p.Path, address) }

// relative returns the way from one page to another: "../l40/".
func relative(from, to string) string {
	for {
		dir, rest, ok := strings.Cut(to, "/")
		have, left, _ := strings.Cut(from, "/")
		if !ok || dir != have {
			break
		}
		from, to = left, rest
	}
	return cmp.Or(strings.Repeat("../", strings.Count(from, "/"))+to, "./")
}

// Canonical returns the page's canonical address, or "" if the site's is unknown.
func (p page) Canonical() string {
	if p.Site == "" {
		return ""
	}
	return strings.TrimSuffix(p.Site, "/") + "/" + p.Path
}

// Wrong returns the address for reporting a wrong page, with the question filled in, or "" if no repository is known.
func (p page) Wrong() string {
	if p.Repository == "" {
		return ""
	}
	return p.Repository + "/issues/new?" + url.Values{"title": {fmt.Sprintf("Wrong: %s (/%s, %s)", cmp.Or(p.Question, p.Title), p.Path, p.Date)}}.Encode()
}

// Build writes the whole site.
func Build(c Config) error {
	if len(c.Wants) == 0 {
		c.Wants = wants
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	b := &builder{Config: c, redirects: map[string]string{}}
	if err := b.load(); err != nil {
		return err
	}
	for _, step := range []func() error{b.assets, b.answers, b.needsFiles, b.gridPages, b.enginePages, b.things, b.documents, b.tables, b.finish} {
		if err := step(); err != nil {
			return err
		}
	}
	return checkSize(c.Out, maxSize)
}

// maxSize is how many bytes a site may have without the engine.
const maxSize = 8_000_000

// checkSize returns an error if the files of a site, without the engine, have more bytes than they may.
func checkSize(dir string, most int64) error {
	size, err := Size(dir)
	if err == nil && size > most {
		err = fmt.Errorf("the site has %d bytes without the engine, and may have %d", size, most)
	}
	return err
}

// Size adds up the bytes of a site's files, without the engine.
func Size(dir string) (int64, error) {
	var size int64
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == engineFile {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size += info.Size()
		return nil
	})
	return size, err
}

// load parses the pages' templates.
func (b *builder) load() error {
	pages, err := template.New("").Funcs(template.FuncMap{"join": strings.Join, "address": shortAddress}).ParseFS(files, "templates/*.html")
	b.pages = pages
	return err
}

// write writes one file below the site's root.
func (b *builder) write(name string, data []byte) error {
	file := filepath.Join(b.Out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

func (b *builder) writeJSON(name string, v any) error {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	return b.write(name, buf.Bytes())
}

// page writes one page, by the template of its kind.
func (b *builder) page(kind string, p page) error {
	p.Date, p.Site, p.Repository = b.Tables.Checked(), b.Site, b.Repository
	var body bytes.Buffer
	if err := b.pages.ExecuteTemplate(&body, kind+".html", p); err != nil {
		return fmt.Errorf("%s: %w", p.Path, err)
	}
	b.written = append(b.written, p.Path)
	return b.write(p.Path+"index.html", bytes.ReplaceAll(body.Bytes(), []byte("&#43;"), []byte("+")))
}

// listed adds a page to the search, under its title and other words.
func (b *builder) listed(title, address string, words ...string) {
	b.index = append(b.index, entry{title, address, strings.Join(words, " ")})
}

// redirect leads from an alias to the canonical page, unless there is a page.
func (b *builder) redirect(from, to string) {
	if from != to && b.redirects[from] == "" {
		b.redirects[from] = to
	}
}

// assets copies style and scripts.
func (b *builder) assets() error {
	return fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".js" {
			data = stripComments(data)
		}
		return b.write(name, data)
	})
}

// stripComments returns a script without the lines that are comments, and without indentation: none of the scripts has
// a text over several lines.
func stripComments(script []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(script) {
		if line = bytes.TrimLeft(line, " "); !bytes.HasPrefix(line, []byte("//")) && len(line) > 1 {
			out.Write(line)
		}
	}
	return out.Bytes()
}

// finish writes what needs the list of all pages.
func (b *builder) finish() error {
	for _, from := range slices.Sorted(maps.Keys(b.redirects)) {
		if slices.Contains(b.written, from) {
			continue
		}
		var body bytes.Buffer
		if err := b.pages.ExecuteTemplate(&body, "redirect.html", relative(from, b.redirects[from])); err != nil {
			return err
		}
		if err := b.write(from+"index.html", body.Bytes()); err != nil {
			return err
		}
	}
	if err := b.writeJSON("assets/search.json", b.index); err != nil {
		return err
	}
	missing, err := b.notFound()
	if err != nil {
		return err
	}
	if err := b.write("404.html", missing); err != nil {
		return err
	}
	if b.Site == "" {
		return nil
	}
	var sitemap bytes.Buffer
	sitemap.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for _, p := range b.written {
		fmt.Fprintf(&sitemap, "<url><loc>%s</loc></url>\n", template.HTMLEscapeString(strings.TrimSuffix(b.Site, "/")+"/"+p))
	}
	sitemap.WriteString("</urlset>\n")
	if err := b.write("sitemap.xml", sitemap.Bytes()); err != nil {
		return err
	}
	return b.write("robots.txt", []byte("User-agent: *\nAllow: /\nSitemap: "+strings.TrimSuffix(b.Site, "/")+"/sitemap.xml\n"))
}

// notFound returns the page for a missing address. It may be shown below any directory, so its style is embedded. The
// root is Config.Site; without it, as in a preview, the page finds the root by the first part of the address that the
// site has.
func (b *builder) notFound() ([]byte, error) {
	tops := map[string]bool{}
	for _, p := range b.written {
		if top, _, ok := strings.Cut(p, "/"); ok {
			tops[top] = true
		}
	}
	site := strings.TrimSuffix(b.Site, "/")
	var body bytes.Buffer
	err := b.pages.ExecuteTemplate(&body, "404.html", map[string]any{"Home": cmp.Or(site, "."), "Site": site, "Tops": slices.Sorted(maps.Keys(tops))})
	return body.Bytes(), err
}

// slug returns a name in an address: "rtx-5090".
func slug(name string) string {
	var s strings.Builder
	dash := false
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_':
			if dash && s.Len() > 0 {
				s.WriteByte('-')
			}
			dash = false
			s.WriteRune(r)
		default:
			dash = true
		}
	}
	return s.String()
}

// spelt returns a slug in the letters that people write: "RTX-5090".
func spelt(name string) string {
	return path.Clean(strings.Join(strings.Fields(strings.ReplaceAll(name, "/", "-")), "-"))
}
