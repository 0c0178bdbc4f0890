package given

import (
	"encoding/json"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// pipHead is the head of the table that pip list and uv pip list print.
var pipHead = lazyregexp.New(`(?m)^Package +Version( +\S.*)?\n-+ +-+`)

func isPipList(d Document) bool {
	return pipHead.Match(d.Data)
}

// pipTable are the packages of the table, none where there is no table; what pip warns of stands before or after it:
//
//	Package           Version
//	----------------- -----------
//	torch             2.9.0+cu126
func pipTable(d Document) (list []locked) {
	head := pipHead.FindString(string(d.Data))
	_, rows, found := strings.Cut(string(d.Data), head)
	if !found || head == "" {
		return nil
	}
	for line := range strings.Lines(rows) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && leadVersion.MatchString(fields[1]+".0") && !strings.ContainsAny(fields[0][:1], "[|") {
			list = append(list, lockedPackage(fields[0], fields[1], "", nil))
		}
	}
	return list
}

// listed is one package of a list in JSON; conda's have a build and a channel.
type listed struct {
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
	var document []listed
	if err := json.Unmarshal(d.Data, &document); err != nil {
		return facts.Facts{}, jsonError(err)
	}
	var list []locked
	for _, p := range document {
		list = append(list, lockedPackage(p.Name, p.Version, "", nil))
	}
	return lockedFacts("pip list", list, nil), nil
}
