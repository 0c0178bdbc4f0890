package main

import (
	"io"
	"strings"

	"cudacompat/report"
)

// format is one way to write a value; a list of them is what a command's -o knows.
type format[T any] = struct {
	Name  string
	Write func(io.Writer, T, report.Style) error
}

// emit writes a value in every format that is asked for, text when none is. Every word is checked before anything is
// written.
func emit[T any](s streams, formats []format[T], specs []string, colour string, all bool, value T) error {
	if len(specs) == 0 {
		specs = []string{formats[0].Name}
	}
	style, err := styleFor(colour, s.out)
	if err != nil {
		return err
	}
	style.All = all
	var writers []func() error
	for _, spec := range specs {
		name, file, _ := strings.Cut(spec, "=")
		write := formatNamed(formats, name)
		if write == nil {
			return misspelt("format", name, namesOf(formats))
		}
		writers = append(writers, func() error {
			if file == "" {
				return write(s.out, value, style)
			}
			return atomically(file, func(w io.Writer) error { return write(w, value, report.Style{All: all}) })
		})
	}
	for _, write := range writers {
		if err := write(); err != nil {
			return &usageError{message: "cannot write the output: " + err.Error()}
		}
	}
	return nil
}

func formatNamed[T any](formats []format[T], name string) func(io.Writer, T, report.Style) error {
	for _, f := range formats {
		if f.Name == name {
			return f.Write
		}
	}
	return nil
}

func namesOf[T any](formats []format[T]) []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}
