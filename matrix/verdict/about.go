package verdict

import (
	"strings"
)

// SubjectParts splits a finding's subject into parts, so that formats can build their own sentences from it.
type SubjectParts struct {
	Name    string `json:"name"`    // "torch"; of what is no build the whole subject
	Version string `json:"version"` // "2.9.0+cu130"; empty where the file or the table leaves it open
	Place   string `json:"place"`   // "/opt/venv"; empty for the one set of a file
}

// Words returns the subject without its place: "torch 2.9.0+cu130".
func (a SubjectParts) Words() string { return strings.TrimSpace(a.Name + " " + a.Version) }
