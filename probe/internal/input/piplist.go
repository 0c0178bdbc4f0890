package input

import (
	"encoding/json"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// pipHead is the head of the table that pip list and uv pip list print.
var pipHead = lazyregexp.New(`(?m)^Package +Version( +\S.*)?\n-+ +-+`)

// pipRows matches rows of that table whose head was left out: two at least, so that a line of prose is none.
var pipRows = lazyregexp.New(`(?m)(?:^[A-Za-z0-9][\w.-]* {2,}\d+\.\d[\w.+!]*[ \t]*(?:\n|\z)){2,}`)

// pipFramework matches the row that such rows must have.
var pipFramework = lazyregexp.New(`(?m)^(?:torch|tensorflow|jax) +\d`)

func isPipList(d Document) bool { return pipHead.Match(d.Data) || headless(d) != "" }

// headless are rows of the table without their head; empty where there are none.
func headless(d Document) string {
	rows := pipRows.FindString(string(d.Data))
	if !pipFramework.MatchString(rows) {
		return ""
	}
	return rows
}

// pipTable are the packages of the table, none where there is no table; what pip warns of stands before or after it:
//
//	Package           Version
//	----------------- -----------
//	torch             2.9.0+cu126
func pipTable(d Document) (list []lockedRelease) {
	head := pipHead.FindString(string(d.Data))
	_, rows, found := strings.Cut(string(d.Data), head)
	if !found || head == "" {
		rows = headless(d)
	}
	for line := range strings.Lines(rows) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && leadVersion.MatchString(fields[1]+".0") && !strings.ContainsAny(fields[0][:1], "[|") {
			list = append(list, lockedPackage(fields[0], fields[1], "", nil))
		}
	}
	return list
}

// listedPackage is one package of a list in JSON; conda's have a build and a channel.
type listedPackage struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Build   string `json:"build_string"`
	Channel string `json:"channel"`
}

var jsonList = lazyregexp.New(`^\[\s*\{[^{}]*"name":`)

func isPipJSON(d Document) bool { return jsonList.Match(d.Data) && !isCondaJSON(d) }

// readPipJSON reads pip list --format=json:
//
//	[{"name": "torch", "version": "2.9.0+cu126"}, …]
func readPipJSON(d Document) (facts.Facts, error) {
	var document []listedPackage
	if err := json.Unmarshal(d.Data, &document); err != nil {
		return facts.Facts{}, jsonError(err)
	}
	var list []lockedRelease
	for _, p := range document {
		list = append(list, lockedPackage(p.Name, p.Version, "", nil))
	}
	return lockedFacts("pip list", list, nil), nil
}
