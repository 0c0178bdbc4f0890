package inputs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/deadline"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// Image is a named image: a directory or an archive.
type Image struct {
	Name  string
	dir   string // of a layout
	tag   string // the one that is meant of several images
	from  io.Reader
	size  int64 // in bytes; 0 where that is not known
	Close func()
}

// pipe is a file that can be read only once, as from a shell's <(…), with the bytes that were read to recognise it.
type pipe struct {
	name string
	io.Reader
}

// FindImage returns the image with a name, or nil if it is something else. It returns the bytes that it read to the
// front of in, which is standard input or a pipe.
func FindImage(name string, stdin io.Reader) (source *Image, in io.Reader) {
	if name == "-" {
		head := bufio.NewReaderSize(stdin, 4096)
		if first, _ := head.Peek(512); !probe.IsImage(first) {
			return nil, head
		}
		if file, ok := stdin.(*os.File); ok {
			if at, err := file.Seek(0, io.SeekStart); err == nil && at == 0 { // a file, by the shell's <
				return openArchive(standardInput, file), stdin
			}
		}
		return &Image{Name: standardInput, from: head, Close: func() {}}, stdin
	}
	if name == "" || !IsFile(name) {
		return nil, stdin
	}
	path, tag := splitImageName(name)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, stdin
	case info.IsDir():
		if probe.IsLayout(path) {
			return &Image{Name: name, dir: path, tag: tag, Close: func() {}}, stdin
		}
		return nil, stdin
	case info.Mode()&os.ModeNamedPipe != 0 && strings.HasPrefix(path, "/dev/fd/"):
		return openImagePipe(path, stdin)
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
	source = openArchive(name, file)
	source.tag = tag
	return source, stdin
}

// FindImageInTime runs FindImage until ctx ends, because standard input may stay open and empty.
func FindImageInTime(ctx context.Context, name string, stdin io.Reader) (source *Image, in io.Reader, err error) {
	type named struct {
		source *Image
		in     io.Reader
	}
	found, err := deadline.Run(ctx, func() (named, error) {
		source, in := FindImage(name, stdin)
		return named{source, in}, nil
	})
	return found.source, found.in, err
}

// openImagePipe returns the image in a pipe.
func openImagePipe(name string, stdin io.Reader) (source *Image, in io.Reader) {
	file, err := os.Open(name)
	if err != nil {
		return nil, stdin
	}
	head := bufio.NewReaderSize(file, 4096)
	if first, _ := head.Peek(512); !probe.IsImage(first) {
		return nil, pipe{name, head}
	}
	return &Image{Name: name, from: head, Close: func() { file.Close() }}, stdin
}

// transports lists skopeo's prefixes before a path.
var transports = []string{"oci:", "oci-archive:", "docker-archive:", "dir:"}

// splitImageName splits a name into path and image name, as skopeo and umoci write them: oci:DIR:TAG.
func splitImageName(name string) (path, tag string) {
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

func openArchive(name string, file *os.File) *Image {
	s := &Image{Name: name, from: file, Close: func() { file.Close() }}
	if info, err := file.Stat(); err == nil {
		s.size = info.Size()
	}
	return s
}

// Facts returns the facts of the image, or the error for rejecting it.
func (s *Image) Facts(ctx context.Context, limit time.Duration, opt probe.ImageOptions, says io.Writer) (probe.Facts, error) {
	found, err := s.read(ctx, limit, opt, says)
	if err != nil {
		return found, s.explainRefusal(err)
	}
	return found, nil
}

// read reads the image as a directory tree at rest. An image that was not read in time was not looked at, which leaves
// the outcome open.
func (s *Image) read(ctx context.Context, limit time.Duration, opt probe.ImageOptions, says io.Writer) (probe.Facts, error) {
	p := terminal.NewProgress(says)
	opt.Tag = s.tag
	opt.Tell = func(read int64) { p.Tell(func() string { return s.describeProgress(read) }) }
	image, err := s.open(ctx, opt)
	p.End()
	switch {
	case ctx.Err() != nil:
		return probe.Facts{Unread: []facts.Unread{{Place: s.Name, Reason: context.Cause(ctx).Error(), Kind: facts.UnreadCut}}}, nil
	case err != nil:
		return probe.Facts{}, err
	}
	defer image.Close()
	return probe.RunImage(ctx, image, probe.Options{Timeout: limit}), nil
}

// explainRefusal says why an image is not read, and what to do.
func (s *Image) explainRefusal(err error) error {
	other, platforms := new(probe.OtherPlatform), new(probe.ManyPlatforms)
	said := &usage.Error{Message: fmt.Sprintf("%q: %v", s.Name, err)}
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
		said.Message = fmt.Sprintf("cannot read the image %q: %v", s.Name, err)
		said.Hint = "copy it again: skopeo copy docker://IMAGE oci-archive:FILE"
	}
	return said
}

// ImageOptions says which image is meant: the one for a platform, otherwise those for the machines.
func ImageOptions(platform string, t *matrix.Tables, targets []matrix.Target) (opt probe.ImageOptions, err error) {
	if platform == Windows {
		return opt, &usage.Error{Message: "--platform " + platform + " is not for images: their programs are Linux'", Hint: "linux/amd64, or leave it out"}
	}
	if platform != "" && !IsSystem(platform) {
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

// RejectPlatform rejects an image's --platform for an input that is not an image, or is only a name.
func RejectPlatform(platform, name string) error {
	if platform == "" || IsSystem(platform) {
		return nil
	}
	if _, err := probe.ParsePlatform(platform); err != nil {
		return usage.RejectUnknown("platform", platform, listPlatforms())
	}
	message := fmt.Sprintf("--platform %s is for images, and %s is none", platform, name)
	if IsImageName(name) {
		message = fmt.Sprintf("--platform %s is for images that are read, and %s is only named", platform, name)
	}
	return &usage.Error{Message: message, Hint: "leave it out, or name the machine: --instance or --gpu"}
}

func (s *Image) open(ctx context.Context, opt probe.ImageOptions) (*probe.Image, error) {
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

// describeProgress says how much of the image was read.
func (s *Image) describeProgress(read int64) string {
	line := fmt.Sprintf("reading %s: %d MB", s.Name, read/1e6)
	if s.size > 0 {
		line += fmt.Sprintf(" of %d", s.size/1e6)
	}
	return line
}

// FindImages returns the images if several are named, or nil if no name is an image. It returns the bytes that it read
// from standard input to the front of in.
func FindImages(args []string, stdin io.Reader) (images []*Image, in io.Reader, err error) {
	if len(args) < 2 {
		return nil, stdin, nil
	}
	other := ""
	for _, name := range args {
		var image *Image
		if name == "-" || !strings.HasPrefix(name, "/dev/fd/") {
			image, stdin = FindImage(name, stdin)
		}
		if image == nil {
			other = cmp.Or(other, name)
			continue
		}
		images = append(images, image)
	}
	if err == nil && len(images) > 0 && other != "" {
		err = &usage.Error{Message: fmt.Sprintf("%q is an image, and %q is none that is read beside it", images[0].Name, other), Hint: "check them one after the other"}
	}
	if err != nil || len(images) == 0 {
		for _, open := range images {
			open.Close()
		}
		return nil, stdin, err
	}
	return images, stdin, nil
}

// NamesStandardInputTwice reports whether standard input, which can be read only once, is named more than once.
func NamesStandardInputTwice(names []string) bool {
	count := 0
	for _, name := range names {
		if name == "-" || slices.Contains([]string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, filepath.Clean(name)) {
			count++
		}
	}
	return count > 1
}

var ErrStandardInputTwice = &usage.Error{Message: "standard input is given twice", Hint: "give - once"}

// FactsFor returns the facts of one of several images for a machine. The image is read once for each platform, each
// time with the whole of --timeout.
func (s *Image) FactsFor(ctx context.Context, read map[string]probe.Facts, opt probe.ImageOptions, limit time.Duration,
	says io.Writer) probe.Facts {
	machine := strings.Join(opt.Machines, "")
	for _, found := range read {
		if found.Image == nil || len(found.Image.Others) == 0 {
			return found
		}
	}
	if found, ok := read[machine]; ok {
		return found
	}
	ctx, cancel := deadline.Set(ctx, limit)
	defer cancel()
	found, err := s.read(ctx, limit, opt, says)
	if err != nil {
		found = probe.Facts{Unread: []facts.Unread{{Place: s.Name, Reason: err.Error(), Kind: facts.UnreadNeeded}}}
	}
	read[machine] = found
	return found
}

// DisplayName returns an image's name, with the platform if the image has several.
func (s *Image) DisplayName(found probe.Facts) string {
	if found.Image == nil || len(found.Image.Others) == 0 {
		return s.Name
	}
	return s.Name + " (" + found.Image.Platform + ")"
}
