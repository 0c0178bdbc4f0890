package logtext

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
	LinesAfter     = 6
	FirstLines     = 200 // of every log, whatever they hold: most that people paste are no longer
	tracebackLines = 200 // after a traceback's first line
	maxHead        = 1500
	maxTail        = 1500
	maxKept        = 2 << 10 // bytes of a line
)

// fewListed is the number of lines from which a list of packages is recognised. Its lines are not read as log lines.
const fewListed = 3

// Excerpt is the part of a log that grammars read.
type Excerpt struct {
	head, tail []Line
	wanted     int // lines still to take
	Calm       int // lines so far that were not taken
}

// Keep keeps the lines of a region around its marks, which are positions after them. number is that of the region's
// first line.
func (e *Excerpt) Keep(region []byte, marks []int, number int) {
	slices.Sort(marks)
	if number == 1 {
		e.wanted = FirstLines
	}
	for pos := 0; pos < len(region); {
		if e.wanted == 0 {
			for len(marks) > 0 && marks[0] <= pos {
				marks = marks[1:]
			}
			if len(marks) == 0 {
				e.Calm += bytes.Count(region[pos:], []byte{'\n'})
				return
			}
			start := linesBack(region, pos, marks[0])
			passed := bytes.Count(region[pos:start], []byte{'\n'})
			number, e.Calm = number+passed, e.Calm+passed
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
	return LinesAfter
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
func (e *Excerpt) add(number int, line []byte) {
	line = bytes.TrimRight(line, "\r")
	line = line[bytes.LastIndexByte(line, '\r')+1:]
	kept := Line{Number: number, Text: string(line[:min(len(line), maxKept)]), Calm: e.Calm}
	if len(e.head) < maxHead {
		e.head = append(e.head, kept)
		return
	}
	if len(e.tail) == 2*maxTail {
		e.tail = e.tail[:copy(e.tail, e.tail[maxTail:])]
	}
	e.tail = append(e.tail, kept)
}

// Lines returns the kept lines as the program wrote them: cleaned, and without a collector's prefix.
func (e *Excerpt) Lines() []Line {
	all := slices.Concat(e.head, e.tail[max(0, len(e.tail)-maxTail):])
	for i := range all {
		all[i].Text = Clean([]byte(all[i].Text))
		if Listing.MatchString(all[i].Text) {
			all[i].Text = "" // source around a failure was not printed by it
		}
		all[i].Inset, all[i].InJournal = strings.HasPrefix(all[i].Text, "  "), Journal.MatchString(all[i].Text)
		all[i].From = FindWriter(all[i].Text)
		all[i].Text = TrimCollectorPrefix(all[i].Text)
	}
	markLists(all)
	return all
}

// CountCalmAfter returns how many lines after a line of the log are near no mark of trouble.
func (e *Excerpt) CountCalmAfter(lines []Line, number int) int {
	if i := FindLine(lines, number); i >= 0 {
		return e.Calm - lines[i].Calm
	}
	return 0
}

// inList matches a line in a list of packages. The longest name has one space after it.
var inList = lazyregexp.New(`^[A-Za-z][\w.-]* \d+\.[\w.+!-]+$`)

// markLists marks the lines of lists of packages.
func markLists(lines []Line) {
	run := 0
	for i := 0; i <= len(lines); i++ {
		if i < len(lines) && mayBeListed(lines[i].Text) &&
			(ListedPackage.MatchString(lines[i].Text) || inList.MatchString(lines[i].Text)) {
			run++
			continue
		}
		for k := i - run; run >= fewListed && k < i; k++ {
			lines[k].Listed = true
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

// FindLine returns the index of a line among those kept, or -1.
func FindLine(lines []Line, number int) int {
	i, kept := slices.BinarySearchFunc(lines, number, func(l Line, n int) int { return cmp.Compare(l.Number, n) })
	if !kept {
		return -1
	}
	return i
}

// ListedPackage matches a line of a list of packages, and shortList is how many of them make one, below a log of which they are no
// part: the lines of pip list, pip freeze and conda list, and what collect_env says of them.
//
//	torch                 2.8.0
//	torch==2.8.0
//	[pip3] torch==2.8.0
var ListedPackage = lazyregexp.New(`^(?:\[(?:pip3?|conda)\] |-e git\+)?[A-Za-z][\w.-]*(?:(?:==| @ )\S+|  +\d[\w.+!-]*(?:  +\S+)*)$|` +
	`^Package +Version\b|^-{3,} +-{3,}|^[$#>!]? ?(?:\S+ -m )?(?:uv )?(?:pip3?|conda) (?:freeze|list)\b`)

// Journal matches what syslog and journald put before a line.
var Journal = lazyregexp.New(`^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.+-]+)` +
	` \S+ [\w.@/-]+(?:\[\d+\])?: `)

// onWindows matches marks of a log that was written on Windows: its paths and its loader's errors.
var onWindows = lazyregexp.New(`\b[A-Za-z]:\\\w|RtlUserThreadStart|BaseThreadInitThunk|\[WinError \d|\\site-packages\\|\.dll["' ]`)

// IsFromWindows reports whether a kept line was written on Windows.
func (e *Excerpt) IsFromWindows() bool {
	mark := func(l Line) bool { return onWindows.MatchString(l.Text) }
	return slices.ContainsFunc(e.head, mark) || slices.ContainsFunc(e.tail, mark)
}
