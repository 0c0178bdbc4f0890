package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"cudacompat/internal/deadline"
	"cudacompat/internal/output"
	"cudacompat/internal/report/needs"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
)

// takeReadme removes -o markdown=FILE from the formats, because it changes only a part of the file.
func (f *requiresFlags) takeReadme() {
	f.formats = slices.DeleteFunc(slices.Clone(f.formats), func(spec string) bool {
		name, found := strings.CutPrefix(spec, "markdown=")
		if found && name != "" && name != "-" && f.readme == "" {
			f.readme = name
			return true
		}
		return false
	})
}

// updateReadme replaces the text between the marks in the file. With --check it reports whether the text is current. If
// the file does not exist, it writes one with the marks.
func (f *requiresFlags) updateReadme(ctx context.Context, s streams, r needs.Requires) error {
	text, err := deadline.Run(ctx, func() ([]byte, error) { return readBounded(f.readme, readmeCap) })
	if errors.Is(err, fs.ErrNotExist) && !f.check {
		text, err = []byte(needs.RequiresBegin+"\n"+needs.RequiresEnd+"\n"), nil
	}
	if err != nil {
		return &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", f.readme, usage.StripPath(err)), Hint: marksHint}
	}
	var part bytes.Buffer
	if err := needs.RequiresTable(&part, r); err != nil {
		return err
	}
	updated, err := output.ReplaceBetweenMarks(text, part.Bytes(), needs.RequiresBegin, needs.RequiresEnd)
	switch {
	case err != nil:
		return &usage.Error{Message: fmt.Sprintf("%q: %v", f.readme, err), Hint: marksHint}
	case bytes.Equal(text, updated):
		return nil
	case f.check:
		terminal.Complain(s.err, fmt.Sprintf("%q is stale: it does not say what is required now", f.readme),
			"run the command without --check")
		return exitError(exitIncompatible)
	}
	return output.Save(ctx, f.readme, func(w io.Writer) error {
		_, err := w.Write(updated)
		return err
	})
}

// readmeCap is how many bytes a file with the two marks may have.
const readmeCap = 8 << 20

// readBounded reads a file of at most a number of bytes.
func readBounded(name string, most int64) ([]byte, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return data, err
}

var marksHint = "give a file with the lines " + needs.RequiresBegin + " and " + needs.RequiresEnd
