package matrix

import (
	"fmt"
	"path"
	"strings"
	"time"

	"cudacompat/pin"
)

// dated says a date of the tables in words: "June 2026" of 2026-06, "20 July 2024" of 2024-07-20.
func dated(date string) string {
	if day, err := time.Parse(time.DateOnly, date); err == nil {
		return day.Format("2 January 2006")
	}
	if month, err := time.Parse("2006-01", date); err == nil {
		return month.Format("January 2006")
	}
	return date
}

// when is a date with its preposition: "in June 2026", "on 20 July 2024".
func when(date string) string {
	if len(date) == len(time.DateOnly) {
		return "on " + dated(date)
	}
	return "in " + dated(date)
}

// joinAnd is a list in words.
func joinAnd(list []string) string { return strings.Join(list, " and ") }

// some shows the first of a list and how many more there are.
func some(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return fmt.Sprintf("%s and %d more", list[0], len(list)-1)
}

// plural is the word for a number of things.
func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// nowhereWords say that the loader finds libraries nowhere.
func nowhereWords(missing []string) string {
	if len(missing) > 1 {
		return some(missing) + " are missing from the loader's path"
	}
	return missing[0] + " is missing from the loader's path"
}

// lostWords say of libraries which file is there that cannot be loaded, and that the others are nowhere.
func (b *build) lostWords(libraries []string) string {
	bad := b.unloadable(libraries)
	if len(bad) == 0 {
		return nowhereWords(libraries)
	}
	words := bad[0].Path + " cannot be loaded (" + bad[0].Reason + ")"
	if more := len(libraries) - 1; more > 0 {
		words += fmt.Sprintf(", and %d more %s missing", more, plural(more, "library is", "libraries are"))
	}
	return words
}

// removal is the step that makes the loader find another file: LD_PRELOAD lists files, LD_LIBRARY_PATH directories.
func removal(file, reason string) string {
	switch reason {
	case "LD_PRELOAD":
		return "remove " + pin.Word(file) + " from LD_PRELOAD, where the program is started"
	case "LD_LIBRARY_PATH":
		return "remove " + pin.Word(path.Dir(file)) + " from LD_LIBRARY_PATH, where the program is started"
	}
	text := "remove " + pin.Word(file) + " from the loader's path, where it is found by " + pin.Said(reason)
	if reason == "ld.so.cache" {
		text += ", and run `sudo ldconfig`"
	}
	return text
}

// first puts a directory before what LD_LIBRARY_PATH holds, as a shell reads it.
func first(dir string) string { return pin.Word(dir) + "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" }
