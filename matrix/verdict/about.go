package verdict

import (
	"strings"
)

// About is a subject in its parts, for who writes a sentence of it.
type About struct {
	Name    string `json:"name"`    // "torch"; of what is no build the whole subject
	Version string `json:"version"` // "2.9.0+cu130"; empty where the file or the table leaves it open
	Place   string `json:"place"`   // "/opt/venv"; empty for the one set of a file
}

// Words is the subject without its place: "torch 2.9.0+cu130".
func (a About) Words() string { return strings.TrimSpace(a.Name + " " + a.Version) }
