package output

import (
	"bytes"
	"errors"
	"slices"
	"strings"
)

// ReplaceBetweenMarks replaces the lines between two marks, which must each occur once, on lines of their own.
func ReplaceBetweenMarks(text, part []byte, begin, end string) ([]byte, error) {
	var before, after [][]byte
	begun, ended := 0, 0
	for line := range bytes.Lines(text) {
		switch mark := strings.TrimSpace(string(line)); {
		case mark == begin:
			begun++
			before = append(before, line)
		case mark == end:
			ended++
			after = append(after, line)
		case begun == 0:
			before = append(before, line)
		case ended > 0:
			after = append(after, line)
		}
		if ended > begun {
			return nil, errors.New("its second mark comes before the first")
		}
	}
	if begun != 1 || ended != 1 {
		return nil, errors.New("it does not have each of the two marks once")
	}
	if bytes.HasSuffix(before[len(before)-1], []byte("\r\n")) { // the file's own ends of lines
		part = bytes.ReplaceAll(part, []byte("\n"), []byte("\r\n"))
	}
	return slices.Concat(bytes.Join(before, nil), part, bytes.Join(after, nil)), nil
}
