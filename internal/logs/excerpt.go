package logs

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Limits for how much of a log is kept for grammars: the lines around marks of trouble, from the start, where the first
// failure is, and from the end, where the program gave up.
const (
	linesBefore    = 2
	linesAfter     = 6
	firstLines     = 200 // of every log, whatever they hold: most that people paste are no longer
	tracebackLines = 200 // after a traceback's first line
	maxHead        = 1500
	maxTail        = 1500
	maxKept        = 2 << 10 // bytes of a line
)

// logLine is a line of a log with its number.
type logLine struct {
	number int
	text   string
	calm   int    // lines before it that are near no mark of trouble
	inset  bool   // it is indented
	from   string // the process that wrote it, where a launcher says: "rank3", "EngineCore pid=192"
	ofMany bool   // a journal of many programs put its name before it
	listed bool   // it stands in a list of packages, which is no log
}

// fewListed is the number of lines from which a list of packages is recognised. Its lines are not read as log lines.
const fewListed = 3

// excerpt is the part of a log that grammars read.
type excerpt struct {
	head, tail []logLine
	wanted     int // lines still to take
	calm       int // lines so far that were not taken
}

// take keeps the lines of a region around its marks, which are positions after them. number is that of the region's
// first line.
func (e *excerpt) take(region []byte, marks []int, number int) {
	slices.Sort(marks)
	if number == 1 {
		e.wanted = firstLines
	}
	for pos := 0; pos < len(region); {
		if e.wanted == 0 {
			for len(marks) > 0 && marks[0] <= pos {
				marks = marks[1:]
			}
			if len(marks) == 0 {
				e.calm += bytes.Count(region[pos:], []byte{'\n'})
				return
			}
			start := linesBack(region, pos, marks[0])
			passed := bytes.Count(region[pos:start], []byte{'\n'})
			number, e.calm = number+passed, e.calm+passed
			pos, e.wanted = start, linesBefore+1
		}
		end := len(region)
		if i := bytes.IndexByte(region[pos:], '\n'); i >= 0 {
			end = pos + i
		}
		e.add(number, region[pos:end])
		e.wanted--
		if len(marks) > 0 && marks[0] <= end {
			e.wanted = max(e.wanted, wantedAfter(region[pos:end]))
		}
		for len(marks) > 0 && marks[0] <= end {
			marks = marks[1:]
		}
		pos, number = end+1, number+1
	}
}

func wantedAfter(line []byte) int {
	if bytes.Contains(line, []byte("Traceback (most recent")) {
		return tracebackLines
	}
	return linesAfter
}

// linesBack returns the start of the line at a position, or of one a few lines earlier, but not before from.
func linesBack(region []byte, from, pos int) int {
	for range linesBefore + 1 {
		i := bytes.LastIndexByte(region[from:pos], '\n')
		if i < 0 {
			return from
		}
		pos = from + i
	}
	return pos + 1
}

// add keeps a line. It drops what a carriage return overwrote, as a terminal does.
func (e *excerpt) add(number int, line []byte) {
	line = bytes.TrimRight(line, "\r")
	line = line[bytes.LastIndexByte(line, '\r')+1:]
	kept := logLine{number: number, text: string(line[:min(len(line), maxKept)]), calm: e.calm}
	if len(e.head) < maxHead {
		e.head = append(e.head, kept)
		return
	}
	if len(e.tail) == 2*maxTail {
		e.tail = e.tail[:copy(e.tail, e.tail[maxTail:])]
	}
	e.tail = append(e.tail, kept)
}

// lines returns the kept lines as the program wrote them: cleaned, and without a collector's prefix.
func (e *excerpt) lines() []logLine {
	all := slices.Concat(e.head, e.tail[max(0, len(e.tail)-maxTail):])
	for i := range all {
		all[i].text = clean([]byte(all[i].text))
		if listing.MatchString(all[i].text) {
			all[i].text = "" // source around a failure was not printed by it
		}
		all[i].inset, all[i].ofMany = strings.HasPrefix(all[i].text, "  "), journal.MatchString(all[i].text)
		all[i].from = writer(all[i].text)
		all[i].text = trimCollectorPrefix(all[i].text)
	}
	markLists(all)
	return all
}

// calmAfter returns how many lines after a line of the log are near no mark of trouble.
func (e *excerpt) calmAfter(lines []logLine, number int) int {
	if i := indexOf(lines, number); i >= 0 {
		return e.calm - lines[i].calm
	}
	return 0
}

// inList matches a line in a list of packages. The longest name has one space after it.
var inList = lazyregexp.New(`^[A-Za-z][\w.-]* \d+\.[\w.+!-]+$`)

// markLists marks the lines of lists of packages.
func markLists(lines []logLine) {
	run := 0
	for i := 0; i <= len(lines); i++ {
		if i < len(lines) && mayBeListed(lines[i].text) &&
			(listedPackage.MatchString(lines[i].text) || inList.MatchString(lines[i].text)) {
			run++
			continue
		}
		for k := i - run; run >= fewListed && k < i; k++ {
			lines[k].listed = true
		}
		run = 0
	}
}

// maxListed is the maximum length of a line in a list of packages.
const maxListed = 160

// mayBeListed reports cheaply whether a line may be in a list of packages. Most lines have several words and are not.
func mayBeListed(text string) bool {
	return text != "" && len(text) <= maxListed && (strings.Count(text, " ") <= 1 || strings.Contains(text, "  "))
}

// indexOf returns the index of a line among those kept, or -1.
func indexOf(lines []logLine, number int) int {
	i, kept := slices.BinarySearchFunc(lines, number, func(l logLine, n int) int { return cmp.Compare(l.number, n) })
	if !kept {
		return -1
	}
	return i
}
