package logtext

import (
	"strings"

	"cudacompat/internal/lazyregexp"
)

// prefix matches what loggers put before the message: a time, a level, a place in the source.
var prefix = lazyregexp.New(`^(?:(?:lxc[\w-]* \S+ \d{14}\.\d+ [A-Z]+ +\w+ - \S+ - |` +
	`\[?\d{4}[-/]\d\d[-/]\d\d[ T-][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\]?|` +
	`\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?|\[[ \d.]+\]|\[\w+\]|[EWFI]\d{4} [\d:.]+ +\d+|(?:ERROR|CRITICAL|FATAL) ` +
	`\d\d-\d\d [\d:]+|(?:ERROR|CRITICAL|FATAL|Error|error)\b[:\]]*|!!!|\[?[\w/.-]+\.(?:py|cc|cpp|cu|go|h|` +
	`c):\d+\]?:?|-+>|E  |\|) *)+`)

// TrimCollectorPrefix returns a line without the prefix that a log collector added. It keeps a traceback's indentation.
func TrimCollectorPrefix(line string) string {
	return strings.TrimRight(line[len(CollectorPrefix.FindString(line)):], " ")
}

// TrimLoggerPrefix returns a line without the time, the level and the place in the source that a logger wrote before
// the message.
func TrimLoggerPrefix(line string) string { return line[len(prefix.FindString(line)):] }
