// Package piplist reads pip's lists of installed packages.
package piplist

import (
	"encoding/json"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
)

// pipHead is the head of the table that pip list and uv pip list print.
var pipHead = lazyregexp.New(`(?m)^Package +Version( +\S.*)?\n-+ +-+`)

// pipRows matches rows of that table without its head, as after grep. A name and a release on a line of their own
// count.
var pipRows = lazyregexp.New(`(?m)(?:^[A-Za-z0-9][\w.-]* +\d+\.\d[\w.+!]*[ \t]*(?:\n|\z))+`)

// pipFramework matches the row that such rows must have.
var pipFramework = lazyregexp.New(`(?m)^(?:torch|tensorflow|jax) +\d`)

// Is recognises the table, with or without its head.
func Is(d document.Document) bool { return pipHead.Match(d.Data) || headless(d) != "" }

// pipRow matches one row of that table, whose longest name has one space behind it.
var pipRow = lazyregexp.New(`^[A-Za-z0-9][\w.-]* +\d+\.\d[\w.+!]*( +\S+)?\s*$`)

// headless returns the rows of the table without its head, or "": at least two rows with a gap between the columns, or
// a text with only rows, as from "pip list | grep torch".
func headless(d document.Document) string {
	for m := range pipRows.EachSubmatch(d.Data) {
		if pipFramework.Match(m[0]) {
			return string(m[0])
		}
	}
	if OnlyRows(d) && pipFramework.Match(d.Data) {
		return string(d.Data)
	}
	return ""
}

// pipRule matches the lines above the rows.
var pipRule = lazyregexp.New(`^(?:Package +Version( +\S.*)?|-+( +-+)+)$`)

// OnlyRows reports whether a text consists only of rows of the table, its head, and the command before them, without an
// error beside the list.
func OnlyRows(d document.Document) bool {
	n := 0
	for line := range strings.Lines(string(d.Data)) {
		switch line = strings.TrimRight(line, " \t\r\n"); {
		case line == "", n == 0 && (strings.HasPrefix(line, "$ ") || pipRule.MatchString(line)):
		case !pipRow.MatchString(line):
			return false
		default:
			n++
		}
	}
	return n > 0
}

// Table returns the packages of the table, none where there is no table; what pip warns of stands before or after it:
//
//	Package           Version
//	----------------- -----------
//	torch             2.9.0+cu126
func Table(d document.Document) (list []request.Package) {
	head := pipHead.FindString(string(d.Data))
	_, rows, found := strings.Cut(string(d.Data), head)
	if !found || head == "" {
		rows = headless(d)
	}
	for line := range strings.Lines(rows) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && !strings.HasPrefix(line, "$ ") && document.LeadVersion.MatchString(fields[1]+".0") && !strings.ContainsAny(fields[0][:1], "[|") {
			list = append(list, request.New(fields[0], fields[1], "", nil))
		}
	}
	return list
}

// Package is one package of a list in JSON; conda's have a build and a channel.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Build   string `json:"build_string"`
	Channel string `json:"channel"`
}

var jsonList = lazyregexp.New(`^\[\s*\{[^{}]*"name":`)

var (
	condaKey = lazyregexp.New(`"build_string"\s*:`)
	// condaFirst is the first field of conda list --json.
	condaFirst = lazyregexp.New(`^\[\s*\{\s*"base_url":`)
)

// HasBuilds reports whether a list in JSON is conda's, which names builds.
func HasBuilds(data []byte) bool {
	return jsonList.Match(data) && condaKey.Match(data) || condaFirst.Match(data)
}

func IsJSON(d document.Document) bool { return jsonList.Match(d.Data) && !HasBuilds(d.Data) }

// ReadJSON reads pip list --format=json:
//
//	[{"name": "torch", "version": "2.9.0+cu126"}, …]
func ReadJSON(d document.Document) (facts.Facts, error) {
	var parsed []Package
	if err := json.Unmarshal(d.Data, &parsed); err != nil {
		return facts.Facts{}, document.JSONError(err)
	}
	var list []request.Package
	for _, p := range parsed {
		list = append(list, request.New(p.Name, p.Version, "", nil))
	}
	return request.Facts("pip list", list, nil), nil
}
