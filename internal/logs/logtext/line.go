package logtext

import (
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Line is a line of a log.
type Line struct {
	Number    int
	Text      string
	Calm      int    // lines before it that are near no mark of trouble
	Inset     bool   // it is indented
	From      string // the process that wrote it, where a launcher says: "rank3", "EngineCore pid=192"
	InJournal bool   // a journal of many programs put its name before it
	Listed    bool   // it stands in a list of packages, which is no log
}

// shortestSaid is the length of the shortest line that says something: "Killed".
const shortestSaid = 6

// IsMute reports whether a line is too short to say anything, a comment, or a stack frame of a compiled program.
func (l Line) IsMute() bool {
	return l.Listed || len(l.Text) < shortestSaid || strings.HasPrefix(l.Text, "# ") || strings.HasPrefix(l.Text, "// ") ||
		strings.HasPrefix(l.Text, "frame #") && StackFrame.MatchString(l.Text)
}

// StackFrame matches a call as PyTorch prints a stack of C++, such as "frame #0: c10::Error::Error(c10::SourceLocation,
// std::string) + 0x57 (0x7f6c4bb4b4d7 in /venv/lib/libc10.so)".
var StackFrame = lazyregexp.New(`^frame #\d+: .* \(0x[0-9a-f]+ in \S*\)$`)

// ContainsAny reports whether a text contains one of the words.
func ContainsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
