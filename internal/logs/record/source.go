package record

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/traceback"
)

// SourceReach is how far above an exception the source line that raised it can be. Since 3.11 Python draws marks
// between them.
const SourceReach = 3

// ReadSource keeps what the lines above an exception show of the source that raised it. The condition of an assertion
// without words is its message.
//
//	    assert len(data_loaders) == len(workflow)
//	AssertionError
func (r *Record) ReadSource(above []logtext.Line) {
	class := r.Slot("class")
	for i := len(above) - 1; i >= 0 && class != ""; i-- {
		text := strings.TrimLeft(above[i].Text, " │❱>-0123456789")
		if m := traceback.FrameLine.FindStringSubmatch(above[i].Text); m != nil && SyntaxErrors.MatchString(class) {
			r.Slots["place"] = m[1] + ", line " + m[2]
			return
		}
		if strings.HasPrefix(text, "assert ") && class == "AssertionError" && r.Slot("message") == "" {
			r.Slots["message"] = text
			return
		}
		if strings.Trim(text, "^~") != "" && r.Slot("source") == "" {
			r.Slots["source"] = text
		}
	}
}

// SyntaxErrors matches the exceptions for which Python names the line that it cannot parse.
var SyntaxErrors = lazyregexp.New(`^(?:Syntax|Indentation|Tab)Error$`)
