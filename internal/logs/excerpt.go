package logs

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// How much of a log is kept for reading by grammar: the lines around those that hold a mark of trouble, from the
// beginning, where the first failure stands, and from the end, where the program gave up.
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

// fewListed is how many lines make a list of packages, of which none is read as a line of a log.
const fewListed = 3

// excerpt is the part of a log that grammars read.
type excerpt struct {
	head, tail []logLine
	wanted     int // lines still to take
	calm       int // lines so far that were not taken
}

// take keeps the lines of a region around its marks, which are positions behind them. Number is that of its first line.
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

// linesBack returns where the line of a position begins, or one a few lines before it, but not before from.
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

// add keeps a line. What a carriage return wrote over is gone, as on a terminal.
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

// lines returns the kept lines as a program wrote them: clean, and without what a collector of logs put before them.
func (e *excerpt) lines() []logLine {
	all := slices.Concat(e.head, e.tail[max(0, len(e.tail)-maxTail):])
	for i := range all {
		all[i].text = clean([]byte(all[i].text))
		if listing.MatchString(all[i].text) {
			all[i].text = "" // source around a failure was not printed by it
		}
		all[i].inset, all[i].ofMany = strings.HasPrefix(all[i].text, "  "), journal.MatchString(all[i].text)
		all[i].from = writer(all[i].text)
		all[i].text = bare(all[i].text)
	}
	markLists(all)
	return all
}

// calmAfter returns how many lines of the log after one are near no mark of trouble.
func (e *excerpt) calmAfter(lines []logLine, number int) int {
	if i := indexOf(lines, number); i >= 0 {
		return e.calm - lines[i].calm
	}
	return 0
}

// inList matches a line of a list of packages, the longest name of which has one space behind it.
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

// maxListed is how long a line of a list of packages may be.
const maxListed = 160

// mayBeListed tells at little cost which lines are none of a list of packages: most have several words.
func mayBeListed(text string) bool {
	return text != "" && len(text) <= maxListed && (strings.Count(text, " ") <= 1 || strings.Contains(text, "  "))
}

// indexOf returns the place of a line among those kept; -1 when it is not.
func indexOf(lines []logLine, number int) int {
	i, kept := slices.BinarySearchFunc(lines, number, func(l logLine, n int) int { return cmp.Compare(l.number, n) })
	if !kept {
		return -1
	}
	return i
}
