package logtext

import (
	"strings"
	"time"

	"cudacompat/internal/lazyregexp"
)

// clocks are the ways in which logs write the time. Each has the layout that parses the parts, joined by spaces.
var clocks = []struct {
	pattern *lazyregexp.Regexp
	layout  string
}{
	// 2025-05-19 10:10:29,701 and 2025-06-05T18:00:13Z
	{lazyregexp.New(`\b(20\d\d-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)`), "2006-01-02 15:04:05"},
	// [E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] and E1222 23:00:20.145007
	{lazyregexp.New(`\b[IWEF](\d{1,2})(\d\d) (\d\d:\d\d:\d\d\.\d{1,9})`), "1 02 15:04:05"},
	// ERROR 02-06 16:34:06 [core.py:936]
	{lazyregexp.New(`(?m)(?:^|[ \[])(\d\d-\d\d) (\d\d:\d\d:\d\d)\b`), "01-02 15:04:05"},
	// [Fri Aug 30 11:43:09 2024] and Sep 18 03:19:01
	{lazyregexp.New(`\b((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d) (\d\d:\d\d:\d\d)`),
		"Jan _2 15:04:05"},
}

// FindStampBefore returns the time of the line that contains the byte before end. Lines of a traceback have none, so it
// may be that of an earlier line.
func FindStampBefore(region []byte, end int) Stamp {
	text := string(region[max(0, end-BytesBefore):end])
	last := Stamp{}
	position := -1
	for i, c := range clocks {
		all := c.pattern.FindAllStringSubmatchIndex(text, -1)
		if len(all) == 0 {
			continue
		}
		m := all[len(all)-1]
		if at, err := time.Parse(c.layout, groups(text, m)); err == nil && m[0] > position {
			last, position = Stamp{Layout: i + 1, At: at}, m[0]
		}
	}
	return last
}

// groups joins the text of the pattern's groups.
func groups(text string, match []int) string {
	var parts []string
	for i := 2; i < len(match); i += 2 {
		parts = append(parts, text[match[i]:match[i+1]])
	}
	return strings.Join(parts, " ")
}

// before reports whether s is known to be earlier than t.
func (s Stamp) before(t Stamp) bool {
	return s.Layout != 0 && s.Layout == t.Layout && s.At.Before(t.At)
}

// BytesBefore is how much of a long line before a literal's end is looked at.
const BytesBefore = 2 << 10

// Stamp is the time in a log line. Two stamps are comparable only if they have the same format: a kernel's seconds
// since boot say nothing about a program's clock.
type Stamp struct {
	Layout int // 0: none
	At     time.Time
}
