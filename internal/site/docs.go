package site

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// document is one Markdown page of the repository.
type document struct {
	File, Path, Title string
	Text              []byte
}

// docBody is what the template of a document shows.
type docBody struct {
	HTML template.HTML
	// List names the other documents, on the first page of them.
	List []document
}

// documentFiles lists the pages other than those of rules, in order.
var documentFiles = []string{"docs/README.md", "docs/install.md", "docs/screens.md", "docs/faq.md", "docs/commands.md", "docs/guard.md",
	"docs/uses.md", "docs/images.md", "docs/fleet.md", "docs/data.md", "docs/compared.md", "docs/performance.md", "docs/ARCHITECTURE.md",
	"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}

// documents writes the documentation: every page of docs, and those in the repository's root.
func (b *builder) documents() error {
	var list []document
	for _, file := range b.documentFiles() {
		data, err := fs.ReadFile(b.Docs, file)
		if err != nil {
			continue // a page that the repository does not have
		}
		list = append(list, document{File: file, Path: pathOfDocument(file), Title: titleOf(data, file), Text: data})
	}
	for _, d := range list {
		html, err := b.markdown(d.File, d.Path, d.Text)
		if err != nil {
			return err
		}
		body := docBody{HTML: html}
		if d.Path == "docs/" {
			body.List = list[1:]
		}
		b.listed(d.Title, d.Path, "docs", path.Base(d.File))
		if err := b.page("doc", page{Title: d.Title, Path: d.Path, Body: body}); err != nil {
			return err
		}
	}
	images, err := fs.Glob(b.Docs, "docs/*.[sp][vn]g")
	if err != nil {
		return err
	}
	for _, name := range images {
		data, err := fs.ReadFile(b.Docs, name)
		if err != nil {
			return err
		}
		if err := b.write("docs/images/"+path.Base(name), data); err != nil {
			return err
		}
	}
	return nil
}

// documentFiles returns the pages in their order, then the pages of docs that the order lacks.
func (b *builder) documentFiles() []string {
	list := documentFiles
	more, _ := fs.Glob(b.Docs, "docs/*.md")
	for _, file := range more {
		if !contains(list, file) {
			list = append(list[:len(list):len(list)], file)
		}
	}
	return list
}

func contains(list []string, word string) bool {
	for _, have := range list {
		if have == word {
			return true
		}
	}
	return false
}

// pathOfDocument returns a file's page; empty for a file that has none.
func pathOfDocument(file string) string {
	name := strings.ToLower(strings.TrimSuffix(path.Base(file), ".md"))
	switch dir := path.Dir(file); {
	case !strings.HasSuffix(file, ".md"):
		return ""
	case file == "docs/README.md":
		return "docs/"
	case file == "docs/rules/README.md":
		return "rule/"
	case dir == "docs/rules":
		return "rule/" + name + "/"
	case dir == "docs":
		return "docs/" + name + "/"
	case file == "README.md":
		return "docs/about/"
	case dir == ".":
		return "docs/" + name + "/"
	}
	return ""
}

// titleOf returns a document's first heading.
func titleOf(data []byte, file string) string {
	for line := range strings.Lines(string(data)) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(title)
		}
	}
	return path.Base(file)
}

// markdown renders a page of the repository. Links to other pages lead to the site's, those to other files into the
// repository.
func (b *builder) markdown(file, address string, source []byte) (template.HTML, error) {
	md := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(links{b, file, address}, 100))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(allowed{}, 100))))
	var out bytes.Buffer
	if err := md.Convert(source, &out); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	// A table or a block of code that is wider than the window scrolls, and so can be reached with the keyboard.
	html := strings.NewReplacer("<table>", `<div class="scroll" tabindex="0" role="region" aria-label="table"><table>`, "</table>", "</table></div>",
		"<pre>", `<pre tabindex="0">`).Replace(out.String())
	return template.HTML(html), nil
}

// links rewrites the addresses in a document.
type links struct {
	b             *builder
	file, address string
}

// Transform implements parser.ASTTransformer.
func (l links) Transform(node *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(l.to(string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(l.to(string(n.Destination)))
		}
		return ast.WalkContinue, nil
	})
}

// to returns where a link of the document leads on the site.
func (l links) to(link string) string {
	if strings.Contains(link, ":") || strings.HasPrefix(link, "#") {
		return link // another site's, or what goldmark leaves out
	}
	name, fragment, _ := strings.Cut(link, "#")
	if fragment != "" {
		fragment = "#" + fragment
	}
	target := path.Join(path.Dir(l.file), name)
	root := page{Path: l.address}.Root()
	if ext := path.Ext(target); path.Dir(target) == "docs" && (ext == ".svg" || ext == ".png") {
		return root + "docs/images/" + path.Base(target)
	}
	if target == "docs/rules" {
		return root + "rule/" + fragment
	}
	if to := pathOfDocument(target); to != "" {
		if _, err := fs.Stat(l.b.Docs, target); err == nil {
			return root + to + fragment
		}
	}
	if l.b.Repository != "" {
		return l.b.Repository + "/blob/main/" + target + fragment
	}
	if _, err := fs.Stat(l.b.Docs, target); err == nil {
		return root + "docs/about/" // the file is in the repository alone
	}
	return link
}

// allowed writes the HTML that documents may have: details with a summary. All other HTML is left out.
type allowed struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (a allowed) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, a.block)
	r.Register(ast.KindRawHTML, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkSkipChildren, nil })
}

// allowedLine matches a line of HTML that is passed on.
var allowedLine = regexp.MustCompile(`^\s*(?:</?details>|<summary>[^<>&"]*</summary>|<details><summary>[^<>&"]*</summary>)\s*$`)

func (allowed) block(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.HTMLBlock)
	write := func(line []byte) {
		if allowedLine.Match(line) {
			_, _ = w.Write(line)
		}
	}
	if entering {
		for i := range n.Lines().Len() {
			segment := n.Lines().At(i)
			write(segment.Value(source))
		}
	} else if n.HasClosure() {
		write(n.ClosureLine.Value(source))
	}
	return ast.WalkContinue, nil
}
