package wheel

import (
	"archive/zip"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
)

// Wheel is a wheel on a server, opened but not brought down.
type Wheel struct {
	File
	Zip   *zip.Reader
	close func() error
}

// Open reads a wheel's directory; the whole wheel where the server sends no parts.
func (w *Web) Open(ctx context.Context, f File) (*Wheel, error) {
	body, size, whole, err := w.from(ctx, f.URL, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	body.Close() // its first bytes are of no use: a zip's directory stands at its end
	var r io.ReaderAt
	var closer func() error
	if whole {
		r, size, closer, err = w.bring(ctx, f)
	} else {
		parts := &remote{ctx: ctx, web: w, file: f, size: size}
		r, closer = parts, parts.Close
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	wheel := &Wheel{File: f, close: closer}
	if err := wheel.readDirectory(r, size); err != nil {
		closer()
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return wheel, nil
}

// bring downloads a wheel into a temporary file, which goes when it is closed.
func (w *Web) bring(ctx context.Context, f File) (io.ReaderAt, int64, func() error, error) {
	temp, err := os.CreateTemp("", "wheel-*")
	if err != nil {
		return nil, 0, nil, err
	}
	os.Remove(temp.Name()) // it lives on until it is closed
	if err := w.download(ctx, f, temp); err != nil {
		temp.Close()
		return nil, 0, nil, err
	}
	size, err := temp.Seek(0, io.SeekEnd)
	return temp, size, temp.Close, err
}

func (w *Wheel) readDirectory(r io.ReaderAt, size int64) error {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return err
	}
	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { return flate.NewReader(r) })
	w.Zip = z
	return nil
}

// Close ends what is under way.
func (w *Wheel) Close() error { return w.close() }

// ListMembers returns the wheel's files that match a pattern of package path, in the wheel's order.
func (w *Wheel) ListMembers(patterns ...string) []*zip.File {
	list := slices.DeleteFunc(slices.Clone(w.Zip.File), func(m *zip.File) bool {
		return !filepath.IsLocal(m.Name) || !slices.ContainsFunc(patterns, func(p string) bool {
			matches, _ := path.Match(p, m.Name)
			return matches
		})
	})
	slices.SortFunc(list, func(a, b *zip.File) int { return cmp.Compare(offset(a), offset(b)) })
	return list
}

// Libraries returns the names of the shared libraries of at least least bytes, in the wheel's order.
func (w *Wheel) Libraries(least uint64) []string {
	var names []string
	for _, m := range w.Zip.File {
		if m.UncompressedSize64 >= least && libraryName.MatchString(m.Name) && !strings.ContainsAny(m.Name, `*?[\`) {
			names = append(names, m.Name)
		}
	}
	return names
}

var libraryName = regexp.MustCompile(`\.so(\.\d+)*$`)

func offset(m *zip.File) int64 {
	off, err := m.DataOffset()
	if err != nil {
		return 0 // opening it will say what is wrong
	}
	return off
}

// Extract writes the members that the patterns match under dir and gives their names. Each is compared with the zip's
// own checksum; not with RECORD, which is stale in wheels that were changed after they were built (torchvision 0.13.1).
func (w *Wheel) Extract(dir string, patterns ...string) ([]string, error) {
	var names []string
	for _, m := range w.ListMembers(patterns...) {
		if err := w.extract(dir, m); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", w.Name, m.Name, err)
		}
		names = append(names, m.Name)
	}
	return names, nil
}

func (w *Wheel) extract(dir string, m *zip.File) error {
	to := filepath.Join(dir, m.Name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := m.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := io.Copy(f, r); err != nil {
		return err
	}
	return f.Close()
}
