package logs

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/traceback"
)

// sourceReach is how far above an exception the source line that raised it can be. Since 3.11 Python draws marks
// between them.
const sourceReach = 3

// readSource keeps what the lines above an exception show of the source that raised it. The condition of an assertion
// without words is its message.
//
//	    assert len(data_loaders) == len(workflow)
//	AssertionError
func (r *record) readSource(above []logtext.Line) {
	class := r.slot("class")
	for i := len(above) - 1; i >= 0 && class != ""; i-- {
		text := strings.TrimLeft(above[i].Text, " │❱>-0123456789")
		if m := traceback.FrameLine.FindStringSubmatch(above[i].Text); m != nil && ofSyntax.MatchString(class) {
			r.slots["place"] = m[1] + ", line " + m[2]
			return
		}
		if strings.HasPrefix(text, "assert ") && class == "AssertionError" && r.slot("message") == "" {
			r.slots["message"] = text
			return
		}
		if strings.Trim(text, "^~") != "" && r.slot("source") == "" {
			r.slots["source"] = text
		}
	}
}

// ofSyntax matches the exceptions for which Python names the line that it cannot parse.
var ofSyntax = lazyregexp.New(`^(?:Syntax|Indentation|Tab)Error$`)

// Patterns for a source line that writes a file, and one that unpacks a tensor's shape.
var (
	writes = lazyregexp.New(`open\(.*,\s*(?:mode=)?['"][wax]b?\+?['"]|\.(?:save|savefig|imwrite|to_\w+|dump|mkdir|write\w*)\(|` +
		`FileHandler\(|VideoWriter\(`)
	takesShape = lazyregexp.New(`\.(?:shape\b|size\(\))`)
)
