package inputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"cudacompat/internal/deadline"
	"cudacompat/internal/logs"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/usage"
)

// maxLogs limits the files in a directory of rank logs.
const maxLogs = 4096

// diagnosisTimeout is the time reserved after reading. A log that uses all its time has much to judge.
const diagnosisTimeout = 150 * time.Millisecond

const LogHint = "give a log, a directory of rank logs, or - for standard input"

// ReadLogs reads logs, "-" for standard input, or directories of rank logs, and returns what they show together. The
// diagnosis says what could not be read in time. It returns an error only if nothing could be read. head is the
// beginning of a single log.
func ReadLogs(ctx context.Context, all []signature.Signature, names []string, limit time.Duration,
	stdin io.Reader) (d logs.Diagnosis, head []byte, err error) {
	if limit <= 0 {
		limit = deadline.Log
	}
	ctx, cancel := deadline.SetReserving(ctx, limit, min(limit/10, diagnosisTimeout))
	defer cancel()
	var sources []logs.Source
	for _, name := range names {
		found, err := listLogs(ctx, name)
		if err != nil {
			return d, nil, &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", name, usage.StripPath(err)), Hint: LogHint}
		}
		for _, file := range found.names {
			sources = append(sources, logs.Source{Name: file, Reader: deadline.NewReader(ctx, openLog(file, stdin))})
		}
		for _, why := range found.left {
			sources = append(sources, logs.Source{Name: name, Reader: unreadable{why}})
		}
	}
	if len(sources) != 1 {
		d, err = JudgeLogs(ctx, all, sources)
		return d, nil, err
	}
	beginning := &headReader{from: sources[0].Reader}
	sources[0].Reader = beginning
	d, err = JudgeLogs(ctx, all, sources)
	return d, beginning.head, err
}

// headCap is how many bytes of a log are kept, for an environment description that people paste before or after it.
const headCap = 1 << 20

// headReader is a reader that keeps the beginning of what it read.
type headReader struct {
	from io.Reader
	head []byte
}

func (h *headReader) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	h.head = append(h.head, p[:min(n, headCap-len(h.head))]...)
	return n, err
}

func JudgeLogs(ctx context.Context, all []signature.Signature, sources []logs.Source) (logs.Diagnosis, error) {
	d, err := logs.Read(ctx, all, sources)
	if err != nil && ctx.Err() == nil && d.Cause == logs.NothingFound && len(d.Unread) >= len(sources) {
		return d, &usage.Error{Message: err.Error(), Hint: LogHint}
	}
	return d, nil
}

func openLog(name string, stdin io.Reader) io.Reader {
	if name == "-" {
		return stdin
	}
	return &lazyFile{name: name}
}

// logSet contains the files that a name stands for, and the errors for files that may belong to it.
type logSet struct {
	names []string
	left  []error
}

// listLogs returns the files that a name stands for: itself, or all files in a directory at any depth, as torchrun's
// --log-dir keeps them (run_id/attempt_0/0/stderr.log).
func listLogs(ctx context.Context, name string) (logSet, error) {
	if name == "-" {
		return logSet{names: []string{"-"}}, nil
	}
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return logSet{names: []string{name}}, err
	}
	found, err := listLogsBelow(ctx, name)
	switch {
	case err != nil || len(found.names) > 0 || ctx.Err() != nil:
	case len(found.left) > 0:
		err = fmt.Errorf("no log is in it: %w", found.left[0])
	default:
		err = errors.New("no log is in it")
	}
	return found, err
}

// listLogsBelow returns the logs in a directory. It counts other files that may be logs and are not read, because one may
// show the real cause.
func listLogsBelow(ctx context.Context, dir string) (logSet, error) {
	var found logSet
	more, links := 0, 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			found.left = append(found.left, fmt.Errorf("it was not searched to its end: %w", context.Cause(ctx)))
			return fs.SkipAll
		case err != nil && path == dir:
			return err
		case err != nil:
			found.left = append(found.left, fmt.Errorf("%s: %w", path, usage.StripPath(err)))
		case e.Type()&fs.ModeSymlink != 0 && leadsOut(path, dir):
			links++
		case !e.Type().IsRegular():
		case len(found.names) == maxLogs:
			more++
		case isText(path):
			found.names = append(found.names, path)
		}
		return nil
	})
	if more > 0 {
		found.left = append(found.left, fmt.Errorf("more than %d files are in it; left out: %d (name those that matter)",
			maxLogs, more))
	}
	if links > 0 {
		found.left = append(found.left, fmt.Errorf("links to files elsewhere were not followed: %d (name those that matter)",
			links))
	}
	return found, err
}

// leadsOut reports whether a link leads to a file outside the directory. A file inside is read under its own name.
func leadsOut(link, dir string) bool {
	info, err := os.Stat(link)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	file, err := filepath.EvalSymlinks(link)
	if err != nil {
		return false
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return false
	}
	inside, err := filepath.Rel(dir, file)
	return err == nil && !filepath.IsLocal(inside)
}

// unreadable stands for a file that is not read, with the reason.
type unreadable struct{ reason error }

func (u unreadable) Read([]byte) (int, error) { return 0, u.reason }

// isText reports whether a file may be a log. Checkpoints and core dumps are stored beside logs. A log may be
// compressed or in UTF-16, which are recognised by their marks.
func isText(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return true // reading it says why it cannot be read
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := f.Read(head)
	marked := bytes.HasPrefix(head, []byte{0x1f, 0x8b}) || bytes.HasPrefix(head, []byte{0xff,
		0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff})
	return marked || !bytes.Contains(head[:n], []byte{0})
}

// lazyFile opens its file at the first read and closes it after the last, because a directory can have more logs than a
// process may open.
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
