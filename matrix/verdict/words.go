package verdict

import (
	"fmt"
	"strings"
	"time"
)

// DateInWords writes a date of the tables in words: "June 2026" for 2026-06, "20 July 2024" for 2024-07-20.
func DateInWords(date string) string {
	if day, err := time.Parse(time.DateOnly, date); err == nil {
		return day.Format("2 January 2006")
	}
	if month, err := time.Parse("2006-01", date); err == nil {
		return month.Format("January 2006")
	}
	return date
}

// When writes a date with its preposition: "in June 2026", "on 20 July 2024".
func When(date string) string {
	if len(date) == len(time.DateOnly) {
		return "on " + DateInWords(date)
	}
	return "in " + DateInWords(date)
}

// JoinAnd joins a list with commas and "and".
func JoinAnd(list []string) string {
	if len(list) < 3 {
		return strings.Join(list, " and ")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// Some shows the first items of a list, and how many more there are.
func Some(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return fmt.Sprintf("%s and %d more", list[0], len(list)-1)
}

// Plural returns the form of a word for a number of things.
func Plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
