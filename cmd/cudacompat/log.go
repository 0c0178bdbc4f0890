package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"cudacompat/data"
	"cudacompat/triage"
)

// maxLogs bounds the files of a directory of rank logs.
const maxLogs = 4096

// diagnose reads a log, "-" for standard input, or a directory of rank logs, and says what they show.
func diagnose(ctx context.Context, name string, stdin io.Reader) (triage.Diagnosis, error) {
	names, err := logFiles(name)
	if err != nil {
		return triage.Diagnosis{}, &usageError{message: err.Error(), hint: "give a log, a directory of rank logs, or - for standard input"}
	}
	var sources []triage.Source
	for _, n := range names {
		if n == "-" {
			sources = append(sources, triage.Source{Name: n, Reader: stdin})
			continue
		}
		log := &lazyFile{name: n}
		defer log.Close()
		sources = append(sources, triage.Source{Name: n, Reader: log})
	}
	signatures, err := signatures()
	if err != nil {
		return triage.Diagnosis{}, err
	}
	d, err := triage.Read(ctx, signatures, sources)
	if err != nil {
		return d, &usageError{message: err.Error()}
	}
	return d, nil
}

// logFiles are the files that a name stands for: itself, or a directory's regular files.
func logFiles(name string) ([]string, error) {
	if name == "-" {
		return []string{"-"}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && len(names) < maxLogs {
			names = append(names, filepath.Join(name, e.Name()))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no files in it", name)
	}
	return names, nil
}

func signatures() ([]triage.Signature, error) {
	f, err := data.FS.Open("signature.csv")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return triage.ReadSignatures(f)
}

// lazyFile opens its file at the first read: a directory can hold more logs than a process may have open.
type lazyFile struct {
	name  string
	file  *os.File
	ended error // what the last read said; the file is closed then
}

func (l *lazyFile) Read(p []byte) (int, error) {
	if l.ended != nil {
		return 0, l.ended
	}
	if l.file == nil {
		f, err := os.Open(l.name)
		if err != nil {
			return 0, err
		}
		l.file = f
	}
	n, err := l.file.Read(p)
	if err != nil {
		l.ended = err
		l.file.Close()
	}
	return n, err
}

// Close ends a log that was not read to its end.
func (l *lazyFile) Close() {
	if l.file != nil {
		l.file.Close()
	}
}
