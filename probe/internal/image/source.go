package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"cudacompat/probe/host"
)

// source is where the parts of an image lie: documents of JSON, and layers.
type source interface {
	// document is a part that is JSON, of at most maxDocument bytes.
	document(name string) ([]byte, error)
	// layer is a part that holds files. It is read once.
	layer(name string) (*layer, error)
}

const (
	maxDocument = 4 << 20
	maxMembers  = 10_000 // of an archive
	maxStream   = 32 << 20
)

// absentError says that an image lacks a part of itself.
type absentError string

func (e absentError) Error() string { return fmt.Sprintf("it lacks %s", string(e)) }

// directory is the directory of an OCI layout, or what skopeo copy writes into one for dir:.
type directory struct {
	*shelf
	root *os.Root
	flat bool // skopeo's: the manifest beside the parts, which bear the digests alone
}

func (d directory) open(name string) (*os.File, error) {
	if d.flat {
		name = path.Base(strings.Replace(name, "index.json", "manifest.json", 1))
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|host.NonBlock, 0)
	if errors.Is(err, fs.ErrNotExist) && d.flat { // one of several
		f, err = d.root.OpenFile(name+".manifest.json", os.O_RDONLY|host.NonBlock, 0)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absentError(name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, errors.Unwrap(err))
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return f, nil
}

func (d directory) document(name string) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return document(name, f)
}

func (d directory) layer(name string) (*layer, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return d.shelf.layer(archiveReader{d.shelf, f})
}

// document reads a part that is JSON.
func document(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, cutShort(err)
	}
	if len(data) > maxDocument {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxDocument>>20)
	}
	return data, nil
}

// archive is a file with the parts of an image, of which any can be read at any time.
type archive struct {
	*shelf
	file  io.ReaderAt
	parts map[string]part
}

// part is where a part lies in the archive, or the name of another.
type part struct {
	off, size int64
	link      string
}

// newArchive lists what is in an archive, over whose parts it passes.
func newArchive(s *shelf, f *os.File) (*archive, error) {
	a := &archive{s, f, map[string]part{}}
	t := tar.NewReader(f)
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err == nil && s.ctx.Err() != nil {
			err = s.ctx.Err()
		}
		if err != nil {
			return nil, cutShort(err)
		}
		if n == maxMembers {
			return nil, fmt.Errorf("it has more than %d parts", maxMembers)
		}
		switch h.Typeflag {
		case tar.TypeReg:
			at, err := f.Seek(0, io.SeekCurrent)
			if err != nil {
				return nil, err
			}
			a.parts[path.Clean(h.Name)] = part{off: at, size: h.Size}
		case tar.TypeSymlink:
			a.parts[path.Clean(h.Name)] = part{link: path.Join(path.Dir(h.Name), h.Linkname)}
		case tar.TypeLink:
			a.parts[path.Clean(h.Name)] = part{link: path.Clean(h.Linkname)}
		}
	}
}

func (a *archive) open(name string) (io.Reader, error) {
	p, ok := a.parts[path.Clean(name)]
	for links := 0; ok && p.link != "" && links < maxLinks; links++ {
		p, ok = a.parts[p.link]
	}
	if !ok || p.link != "" {
		return nil, absentError(name)
	}
	return io.NewSectionReader(a.file, p.off, p.size), nil
}

func (a *archive) document(name string) ([]byte, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	return document(name, r)
}

func (a *archive) layer(name string) (*layer, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	return a.shelf.layer(archiveReader{a.shelf, r})
}

// stream is an archive that goes by once. Its parts come in any order, the list of them often last: what could be a
// layer is read as one.
type stream struct {
	documents map[string][]byte
	layers    map[string]*layer
	links     map[string]string
	failed    map[string]error
}

func newStream(s *shelf, r io.Reader) (*stream, error) {
	all := &stream{map[string][]byte{}, map[string]*layer{}, map[string]string{}, map[string]error{}}
	size := 0
	t := tar.NewReader(r)
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r) // a pipe's writer fails where nobody reads to the end
			return all, err
		}
		if err != nil {
			return nil, cutShort(err)
		}
		if n == maxMembers {
			return nil, fmt.Errorf("it has more than %d parts", maxMembers)
		}
		name := path.Clean(h.Name)
		switch h.Typeflag {
		case tar.TypeSymlink:
			all.links[name] = path.Join(path.Dir(h.Name), h.Linkname)
			continue
		case tar.TypeLink:
			all.links[name] = path.Clean(h.Linkname)
			continue
		case tar.TypeReg:
		default:
			continue
		}
		part := bufio.NewReaderSize(t, 512)
		if head, _ := part.Peek(1); h.Size <= maxDocument && (bytes.HasPrefix(head, []byte("{")) || bytes.HasPrefix(head, []byte("["))) {
			data, err := document(name, part)
			if err != nil {
				return nil, err
			}
			if size += len(data); size > maxStream {
				return nil, fmt.Errorf("it has more than %d MiB of documents", maxStream>>20)
			}
			all.documents[name] = data
			continue
		}
		if len(all.layers) == maxLayers {
			return nil, fmt.Errorf("it has more than %d layers", maxLayers)
		}
		l, err := s.layer(part)
		if _, err := io.Copy(io.Discard, part); err != nil {
			return nil, cutShort(err)
		}
		switch {
		case s.ctx.Err() != nil:
			return nil, err
		case err != nil:
			all.failed[name] = err
		default:
			all.layers[name] = l
		}
	}
}

func (s *stream) name(name string) string {
	name = path.Clean(name)
	for range maxLinks {
		to, ok := s.links[name]
		if !ok {
			break
		}
		name = to
	}
	return name
}

func (s *stream) document(name string) ([]byte, error) {
	data, ok := s.documents[s.name(name)]
	if !ok {
		return nil, absentError(name)
	}
	return data, nil
}

func (s *stream) layer(name string) (*layer, error) {
	name = s.name(name)
	if err := s.failed[name]; err != nil {
		return nil, err
	}
	if l := s.layers[name]; l != nil {
		return l, nil
	}
	return nil, absentError(name)
}

// Is reports whether what begins so can be an image: a tar archive, plain or packed.
func Is(head []byte) bool {
	return len(head) > 262 && string(head[257:262]) == "ustar" || bytes.HasPrefix(head, []byte(gzipMagic)) ||
		bytes.HasPrefix(head, []byte(zstdMagic))
}

// IsLayout reports whether a directory is an OCI layout, or one of skopeo's.
func IsLayout(dir string) bool { return hasFiles(dir, "oci-layout", "index.json") || isFlat(dir) }

func isFlat(dir string) bool {
	head := make([]byte, len(flatVersion))
	if !hasFiles(dir, "version", "manifest.json") {
		return false
	}
	f, err := os.Open(dir + "/version")
	if err != nil {
		return false
	}
	defer f.Close()
	n, _ := f.Read(head)
	return string(head[:n]) == flatVersion
}

// flatVersion begins the file version of skopeo's directories.
const flatVersion = "Directory Transport Version"

func hasFiles(dir string, names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		info, err := os.Stat(dir + "/" + name)
		return err != nil || !info.Mode().IsRegular()
	})
}
