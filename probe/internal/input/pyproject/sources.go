package pyproject

import (
	"path"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
)

// localSources returns what the members of uv's workspace, and the directories that it takes a dependency from, ask for
// themselves. One whose own file is not there, or that has no list, is named.
func (p *Project) localSources(d document.Document) (list []request.Package, left []facts.Unread) {
	for _, q := range parse(p.Project.Dependencies) {
		for _, key := range document.SortedKeys(p.Tool.UV.Sources) {
			if distname.Normal(key) != q.Name {
				continue
			}
			dir := document.Field(p.Tool.UV.Sources[key], "path")
			if document.Entry(p.Tool.UV.Sources[key], "workspace") == true {
				at := slices.IndexFunc(p.Tool.UV.Workspace.Members, func(member string) bool {
					return distname.Normal(path.Base(member)) == q.Name
				})
				dir = "?"
				if at >= 0 {
					dir = p.Tool.UV.Workspace.Members[at]
				}
			}
			if dir == "" || path.Ext(dir) == ".whl" {
				continue
			}
			inner := &Project{}
			if data, err := openBeside(d, path.Join(dir, "pyproject.toml")); err == nil && toml.Unmarshal(data, inner) == nil &&
				!slices.Contains(inner.Project.Dynamic, "dependencies") && inner.Project.Name != "" {
				list = append(list, p.RequirementsOf(inner.Project.Dependencies, "")...)
				continue
			}
			left = append(left, facts.Unread{Place: q.Name, Reason: requirements.Elsewhere, Kind: facts.UnreadNeeded})
		}
	}
	return list, left
}

// openBeside reads a file beside a document.
func openBeside(d document.Document, name string) ([]byte, error) {
	if d.Beside == nil {
		return nil, requirements.ErrNothingBeside
	}
	return d.Beside(name)
}
