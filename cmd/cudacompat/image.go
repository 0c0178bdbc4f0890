package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// imageSource is an image that was named: the directory of a layout, or an archive.
type imageSource struct {
	name   string
	layout bool
	from   io.Reader
	size   int64 // in bytes; 0 where that is not known
	done   func()
}

// imageNamed is the image that a name leads to; nil where it is something else. What was read of standard input to tell
// is put back before in.
func imageNamed(name string, stdin io.Reader) (source *imageSource, in io.Reader) {
	if name == "-" {
		head := bufio.NewReaderSize(stdin, 4096)
		if first, _ := head.Peek(512); !probe.IsImage(first) {
			return nil, head
		}
		if file, ok := stdin.(*os.File); ok {
			if at, err := file.Seek(0, io.SeekStart); err == nil && at == 0 { // a file, by the shell's <
				return archiveNamed(name, file), nil
			}
		}
		return &imageSource{name: "standard input", from: head, done: func() {}}, nil
	}
	if name == "" || !isFile(name) {
		return nil, stdin
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, stdin
	case info.IsDir():
		if probe.IsLayout(name) {
			return &imageSource{name: name, layout: true, done: func() {}}, stdin
		}
		return nil, stdin
	case !info.Mode().IsRegular():
		return nil, stdin
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, stdin
	}
	first := make([]byte, 512)
	n, _ := file.ReadAt(first, 0)
	if !probe.IsImage(first[:n]) {
		file.Close()
		return nil, stdin
	}
	return archiveNamed(name, file), stdin
}

func archiveNamed(name string, file *os.File) *imageSource {
	s := &imageSource{name: name, from: file, done: func() { file.Close() }}
	if info, err := file.Stat(); err == nil {
		s.size = info.Size()
	}
	return s
}

// facts reads the image and looks at it as at a tree at rest. An image that is not read in time was not looked at,
// which leaves the outcome open.
func (s *imageSource) facts(ctx context.Context, limit time.Duration, says io.Writer) (probe.Facts, error) {
	p := newProgress(says)
	image, err := s.open(ctx, probe.ImageOptions{Tell: func(read int64) { p.tell(func() string { return s.sofar(read) }) }})
	p.end()
	switch {
	case ctx.Err() != nil:
		return probe.Facts{Unread: []facts.Unread{{Place: s.name, Reason: context.Cause(ctx).Error(), Kind: facts.UnreadCut}}}, nil
	case errors.Is(err, probe.ErrNoImage):
		return probe.Facts{}, &usageError{fmt.Sprintf("%q: %v", s.name, err), noImageHint}
	case errors.As(err, new(*probe.ManyImages)):
		return probe.Facts{}, &usageError{fmt.Sprintf("%q: %v", s.name, err), manyHint}
	case err != nil:
		return probe.Facts{}, &usageError{fmt.Sprintf("cannot read the image %q: %v", s.name, err), damagedHint}
	}
	defer image.Close()
	return probe.RunImage(ctx, image, probe.Options{Timeout: limit}), nil
}

const (
	noImageHint = "give what docker save, podman save or skopeo copy writes; a tree of files is for cudacompat doctor --root DIR"
	manyHint    = "copy the one that you mean into a file: skopeo copy oci:DIR:TAG oci-archive:FILE"
	damagedHint = "copy it again: skopeo copy docker://IMAGE oci-archive:FILE"
)

func (s *imageSource) open(ctx context.Context, opt probe.ImageOptions) (*probe.Image, error) {
	return inTime(ctx, func() (*probe.Image, error) {
		if s.layout {
			return probe.OpenLayout(ctx, s.name, opt)
		}
		return probe.OpenImage(ctx, s.from, opt)
	})
}

// sofar says how much of the image was read.
func (s *imageSource) sofar(read int64) string {
	line := fmt.Sprintf("reading %s: %d MB", s.name, read/1e6)
	if s.size > 0 {
		line += fmt.Sprintf(" of %d", s.size/1e6)
	}
	return line
}
