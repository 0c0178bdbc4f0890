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

	"cudacompat/internal/deadline"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// imageSource is a named image: a directory or an archive.
type imageSource struct {
	name string
	dir  string // of a layout
	tag  string // the one that is meant of several images
	from io.Reader
	size int64 // in bytes; 0 where that is not known
	done func()
}

// readPipe is a file that can be read only once, as from a shell's <(…), with the bytes that were read to recognise it.
type readPipe struct {
	name string
	io.Reader
}

// imageNamed returns the image with a name, or nil if it is something else. It returns the bytes that it read to the
// front of in, which is standard input or a pipe.
func imageNamed(name string, stdin io.Reader) (source *imageSource, in io.Reader) {
	if name == "-" {
		head := bufio.NewReaderSize(stdin, 4096)
		if first, _ := head.Peek(512); !probe.IsImage(first) {
			return nil, head
		}
		if file, ok := stdin.(*os.File); ok {
			if at, err := file.Seek(0, io.SeekStart); err == nil && at == 0 { // a file, by the shell's <
				return archiveNamed(standardInput, file), stdin
			}
		}
		return &imageSource{name: standardInput, from: head, done: func() {}}, stdin
	}
	if name == "" || !isFile(name) {
		return nil, stdin
	}
	path, tag := imagePath(name)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, stdin
	case info.IsDir():
		if probe.IsLayout(path) {
			return &imageSource{name: name, dir: path, tag: tag, done: func() {}}, stdin
		}
		return nil, stdin
	case info.Mode()&os.ModeNamedPipe != 0 && strings.HasPrefix(path, "/dev/fd/"):
		return imageInPipe(path, stdin)
	case !info.Mode().IsRegular():
		return nil, stdin
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, stdin
	}
	first := make([]byte, 512)
	n, _ := file.ReadAt(first, 0)
	if !probe.IsImage(first[:n]) {
		file.Close()
		return nil, stdin
	}
	source = archiveNamed(name, file)
	source.tag = tag
	return source, stdin
}

// imageNamedInTime runs imageNamed until ctx ends, because standard input may stay open and empty.
func imageNamedInTime(ctx context.Context, name string, stdin io.Reader) (source *imageSource, in io.Reader, err error) {
	type named struct {
		source *imageSource
		in     io.Reader
	}
	found, err := deadline.Run(ctx, func() (named, error) {
		source, in := imageNamed(name, stdin)
		return named{source, in}, nil
	})
	return found.source, found.in, err
}

// imageInPipe returns the image in a pipe.
func imageInPipe(name string, stdin io.Reader) (source *imageSource, in io.Reader) {
	file, err := os.Open(name)
	if err != nil {
		return nil, stdin
	}
	head := bufio.NewReaderSize(file, 4096)
	if first, _ := head.Peek(512); !probe.IsImage(first) {
		return nil, readPipe{name, head}
	}
	return &imageSource{name: name, from: head, done: func() { file.Close() }}, stdin
}

// transports lists skopeo's prefixes before a path.
var transports = []string{"oci:", "oci-archive:", "docker-archive:", "dir:"}

// imagePath splits a name into path and image name, as skopeo and umoci write them: oci:DIR:TAG.
func imagePath(name string) (path, tag string) {
	there := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	if there(name) {
		return name, ""
	}
	path, typed := name, false
	for _, transport := range transports {
		if rest, ok := strings.CutPrefix(name, transport); ok {
			path, typed = rest, true
		}
	}
	if i := strings.LastIndexByte(path, ':'); i > 0 && !there(path) && (typed || probe.IsLayout(path[:i])) {
		return path[:i], path[i+1:]
	}
	return path, ""
}

const standardInput = "standard input"

func archiveNamed(name string, file *os.File) *imageSource {
	s := &imageSource{name: name, from: file, done: func() { file.Close() }}
	if info, err := file.Stat(); err == nil {
		s.size = info.Size()
	}
	return s
}

// facts returns the facts of the image, or the error for rejecting it.
func (s *imageSource) facts(ctx context.Context, limit time.Duration, opt probe.ImageOptions, says io.Writer) (probe.Facts, error) {
	found, err := s.read(ctx, limit, opt, says)
	if err != nil {
		return found, s.refusal(err)
	}
	return found, nil
}

// read reads the image as a directory tree at rest. An image that was not read in time was not looked at, which leaves
// the outcome open.
func (s *imageSource) read(ctx context.Context, limit time.Duration, opt probe.ImageOptions, says io.Writer) (probe.Facts, error) {
	p := terminal.NewProgress(says)
	opt.Tag = s.tag
	opt.Tell = func(read int64) { p.Tell(func() string { return s.sofar(read) }) }
	image, err := s.open(ctx, opt)
	p.End()
	switch {
	case ctx.Err() != nil:
		return probe.Facts{Unread: []facts.Unread{{Place: s.name, Reason: context.Cause(ctx).Error(), Kind: facts.UnreadCut}}}, nil
	case err != nil:
		return probe.Facts{}, err
	}
	defer image.Close()
	return probe.RunImage(ctx, image, probe.Options{Timeout: limit}), nil
}

// refusal says why an image is not read, and what to do.
func (s *imageSource) refusal(err error) error {
	other, platforms := new(probe.OtherPlatform), new(probe.ManyPlatforms)
	said := &usage.Error{Message: fmt.Sprintf("%q: %v", s.name, err)}
	switch {
	case errors.Is(err, probe.ErrNoImage):
		said.Hint = "give what docker save, podman save or skopeo copy writes; a tree of files is for cudacompat doctor --root DIR"
	case errors.As(err, new(*probe.ManyImages)):
		said.Hint = "name the one that you mean, oci:DIR:TAG or oci-archive:FILE:TAG, or save only that one: docker save IMAGE"
	case errors.As(err, new(*probe.NoTag)):
		said.Hint = "give one of these, or leave it out where there is one"
	case errors.As(err, &other):
		said.Hint = "leave --platform out, or copy the other one: skopeo copy --override-arch " +
			strings.Split(other.Want, "/")[1] + " docker://IMAGE oci-archive:FILE"
	case errors.As(err, &platforms) && platforms.Machines:
		said.Hint = "name machines of one architecture at a time, or --platform " + platforms.Have[0]
	case errors.As(err, &platforms):
		said.Hint = "say which one: --platform " + platforms.Have[0]
	default:
		said.Message = fmt.Sprintf("cannot read the image %q: %v", s.name, err)
		said.Hint = "copy it again: skopeo copy docker://IMAGE oci-archive:FILE"
	}
	return said
}

// imageOptions says which image is meant: the one for a platform, otherwise those for the machines.
func imageOptions(platform string, t *matrix.Tables, targets []matrix.Target) (opt probe.ImageOptions, err error) {
	if platform == onWindows {
		return opt, &usage.Error{Message: "--platform " + platform + " is not for images: their programs are Linux'", Hint: "linux/amd64, or leave it out"}
	}
	if platform != "" && !isSystem(platform) {
		if opt.Platform, err = probe.ParsePlatform(platform); err != nil {
			return opt, &usage.Error{Message: "--platform " + err.Error()}
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

// imagePlatforms maps the platforms of the tables to the names in images.
var imagePlatforms = map[string]string{"linux_x86_64": "linux/amd64", "linux_aarch64": "linux/arm64"}

// notImage rejects an image's --platform for an input that is not an image, or is only a name.
func notImage(platform, name string) error {
	if platform == "" || isSystem(platform) {
		return nil
	}
	if _, err := probe.ParsePlatform(platform); err != nil {
		return usage.RejectUnknown("platform", platform, platformsOf())
	}
	message := fmt.Sprintf("--platform %s is for images, and %s is none", platform, name)
	if isImageName(name) {
		message = fmt.Sprintf("--platform %s is for images that are read, and %s is only named", platform, name)
	}
	return &usage.Error{Message: message, Hint: "leave it out, or name the machine: --instance or --gpu"}
}

func (s *imageSource) open(ctx context.Context, opt probe.ImageOptions) (*probe.Image, error) {
	if file, ok := s.from.(*os.File); ok {
		_, _ = file.Seek(0, io.SeekStart) // it may have been read for another platform; a pipe goes on where it is
	}
	return deadline.Run(ctx, func() (*probe.Image, error) {
		if s.dir != "" {
			return probe.OpenLayout(ctx, s.dir, opt)
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
