package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"cudacompat/matrix"
	"cudacompat/probe"
	"cudacompat/probe/facts"

	"github.com/spf13/cobra"
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
func (s *imageSource) facts(ctx context.Context, limit time.Duration, opt probe.ImageOptions, says io.Writer) (probe.Facts, error) {
	p := newProgress(says)
	opt.Tell = func(read int64) { p.tell(func() string { return s.sofar(read) }) }
	image, err := s.open(ctx, opt)
	p.end()
	switch {
	case ctx.Err() != nil:
		return probe.Facts{Unread: []facts.Unread{{Place: s.name, Reason: context.Cause(ctx).Error(), Kind: facts.UnreadCut}}}, nil
	case err != nil:
		return probe.Facts{}, s.refused(err)
	}
	defer image.Close()
	return probe.RunImage(ctx, image, probe.Options{Timeout: limit}), nil
}

// refused says why an image is not read, and what to do.
func (s *imageSource) refused(err error) error {
	other, platforms := new(probe.OtherPlatform), new(probe.ManyPlatforms)
	said := &usageError{message: fmt.Sprintf("%q: %v", s.name, err)}
	switch {
	case errors.Is(err, probe.ErrNoImage):
		said.hint = "give what docker save, podman save or skopeo copy writes; a tree of files is for cudacompat doctor --root DIR"
	case errors.As(err, new(*probe.ManyImages)):
		said.hint = "copy the one that you mean into a file: skopeo copy oci:DIR:TAG oci-archive:FILE"
	case errors.As(err, &other):
		said.hint = "leave --platform out, or copy the other one: skopeo copy --override-arch " +
			strings.Split(other.Want, "/")[1] + " docker://IMAGE oci-archive:FILE"
	case errors.As(err, &platforms) && platforms.Machines:
		said.hint = "name machines of one architecture at a time, or --platform " + platforms.Have[0]
	case errors.As(err, &platforms):
		said.hint = "say which one: --platform " + platforms.Have[0]
	default:
		said.message = fmt.Sprintf("cannot read the image %q: %v", s.name, err)
		said.hint = "copy it again: skopeo copy docker://IMAGE oci-archive:FILE"
	}
	return said
}

// platformFlag is which image is meant of one for several platforms.
func platformFlag(cmd *cobra.Command, platform *string) {
	cmd.Flags().StringVar(platform, "platform", "",
		"of an image for several platforms, take the one for `PLATFORM`: linux/amd64 or linux/arm64 (default: that of --instance or --gpu where they tell it, else linux/amd64)")
}

// imageOptions say which image is meant: the one for a platform, or else for machines.
func imageOptions(platform string, t *matrix.Tables, targets []matrix.Target) (opt probe.ImageOptions, err error) {
	if platform != "" {
		if opt.Platform, err = probe.ParsePlatform(platform); err != nil {
			return opt, &usageError{message: "--platform " + err.Error()}
		}
		return opt, nil
	}
	for _, target := range targets {
		if name, ok := imagePlatforms[matrix.PlatformOf(t, target)]; ok {
			opt.Machines = append(opt.Machines, name)
		}
	}
	return opt, nil
}

// imagePlatforms are the platforms of the tables as images write them.
var imagePlatforms = map[string]string{"linux_x86_64": "linux/amd64", "linux_aarch64": "linux/arm64"}

// notImage refuses --platform for what is no image.
func notImage(platform, name string) error {
	if platform == "" {
		return nil
	}
	return &usageError{fmt.Sprintf("--platform is for images, and %s is none", name), "leave it out, or name the machine: --instance or --gpu"}
}

func (s *imageSource) open(ctx context.Context, opt probe.ImageOptions) (*probe.Image, error) {
	if file, ok := s.from.(*os.File); ok {
		_, _ = file.Seek(0, io.SeekStart) // it may have been read for another platform; a pipe goes on where it is
	}
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
