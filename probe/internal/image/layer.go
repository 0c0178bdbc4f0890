package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cudacompat/probe/internal/pysource"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Bounds of one image, whatever it claims.
const (
	maxEntries  = 400_000  // files of all layers; the largest known images have some 250,000
	maxNames    = 48 << 20 // bytes of their names
	maxUnpacked = 512 << 30
	maxFile     = 64 << 30
	maxLayers   = 512
	maxLoader   = 2 << 20
	maxPython   = 8 << 20  // of one source, as much as the walker reads
	scriptKept  = 256      // BINPRM_BUF_SIZE of linux/binfmts.h
	maxWindow   = 32 << 20 // of zstd, which says how much memory unpacking takes; its level 19 has 8 MiB
)

// layer is what one layer does to the file system.
type layer struct {
	entries []*entry
	diffID  string // digest of the unpacked archive
	digest  string // of the layer as it is stored
}

// entry is one file of a layer.
type entry struct {
	dir, base string
	kind      fs.FileMode // 0 for a regular file
	body      *body
	link      string // where a symbolic link points
	hard      string // the file that a hard link names
}

// shelf is where layers are read, one after the other.
type shelf struct {
	ctx      context.Context
	store    *store
	scratch  *store
	buffer   []byte
	source   []byte            // of one Python file after the other
	dirs     map[string]string // the names of directories, each once
	entries  int
	names    int64
	unpacked int64
	claimed  int64            // bytes of the files that were looked at
	tell     func(read int64) // how much of the archive has been read, in bytes
	read     int64
}

func newShelf(ctx context.Context, tell func(int64)) (*shelf, error) {
	store, err := newStore(maxStore)
	return &shelf{ctx: ctx, store: store, buffer: make([]byte, chunk), dirs: map[string]string{}, tell: tell}, err
}

// close gives the scratch file back; what is kept stays.
func (s *shelf) close() {
	if s.scratch != nil {
		s.scratch.close()
	}
}

// archiveReader is the archive, which ends when the time is up.
type archiveReader struct {
	s *shelf
	r io.Reader
}

func (c archiveReader) Read(p []byte) (int, error) {
	if c.s.ctx.Err() != nil {
		return 0, context.Cause(c.s.ctx)
	}
	n, err := c.r.Read(p)
	c.s.read += int64(n)
	c.s.tell(c.s.read)
	return n, err
}

// hashingReader is what is read, with its digest.
type hashingReader struct {
	r   io.Reader
	sum hash.Hash
}

func newHashed(r io.Reader) *hashingReader { return &hashingReader{r, sha256.New()} }

func (h *hashingReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.sum.Write(p[:n])
	return n, err
}

func (h *hashingReader) digest() string { return "sha256:" + hex.EncodeToString(h.sum.Sum(nil)) }

// errNoLayer is the error of reading what is no archive of files.
var errNoLayer = errors.New("it is not a tar archive, plain or packed by gzip or zstd")

// errTruncated says that an archive ends too early.
var errTruncated = errors.New("it ends in the middle")

func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTruncated
	}
	return err
}

// layer reads one layer, once.
func (s *shelf) layer(r io.Reader) (*layer, error) {
	stored := newHashed(r)
	raw := bufio.NewReaderSize(stored, 128<<10)
	plain, done, err := unpack(raw)
	if err != nil {
		return nil, err
	}
	defer done()
	sum := stored
	if plain != io.Reader(raw) {
		sum = newHashed(plain)
		plain = sum
	}
	l := &layer{}
	if err := s.files(l, plain); err != nil {
		return nil, cutShort(err)
	}
	for _, rest := range []io.Reader{plain, raw} { // zeros behind the last file
		if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, rest, s.buffer); err != nil {
			return nil, cutShort(err)
		}
	}
	l.digest, l.diffID = stored.digest(), sum.digest()
	return l, nil
}

// What packed files begin with.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	zstdSkip  = "\x2a\x4d\x18" // behind a byte from 0x50 to 0x5f: a frame that is passed over (RFC 8878)
)

// unpack returns a reader's content, decompressed if necessary.
func unpack(raw *bufio.Reader) (io.Reader, func(), error) {
	head, _ := raw.Peek(4)
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		z, err := gzip.NewReader(raw)
		return z, func() {}, cutShort(err)
	case string(head) == zstdMagic, len(head) == 4 && head[0]&0xf0 == 0x50 && string(head[1:]) == zstdSkip:
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(maxUnpacked), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return raw, func() {}, nil
}

// files reads the files of a layer.
func (s *shelf) files(l *layer, r io.Reader) error {
	t := tar.NewReader(&limitedReader{s, r, &s.unpacked})
	for {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, tar.ErrHeader) && len(l.entries) == 0:
			return errNoLayer
		case err != nil:
			return err
		}
		e, err := s.entry(h)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if e.body != nil {
			if err := s.contents(e, &limitedReader{s, t, &s.claimed}); err != nil {
				return err
			}
		}
		l.entries = append(l.entries, e)
	}
}

// limitedReader ends if an image decompresses to more than any real one: its layers, and the files that are read. A
// sparse file is larger than its archive entry.
type limitedReader struct {
	s    *shelf
	r    io.Reader
	read *int64 // so far
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.s.ctx.Err() != nil {
		return 0, context.Cause(l.s.ctx)
	}
	n, err := l.r.Read(p)
	if *l.read += int64(n); *l.read > maxUnpacked {
		return n, fmt.Errorf("it unpacks to more than %d GiB", maxUnpacked>>30)
	}
	return n, err
}

// entry returns the entry of a header, or nil if it is not a file.
func (s *shelf) entry(h *tar.Header) (*entry, error) {
	e := &entry{}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		e.body = &body{size: h.Size, mode: h.FileInfo().Mode().Perm()}
	case tar.TypeDir:
		e.kind = fs.ModeDir
	case tar.TypeSymlink:
		e.kind, e.link = fs.ModeSymlink, h.Linkname
	case tar.TypeLink:
		e.hard = path.Clean("/" + h.Linkname)
	case tar.TypeChar:
		e.kind = fs.ModeDevice | fs.ModeCharDevice
	case tar.TypeBlock:
		e.kind = fs.ModeDevice
	case tar.TypeFifo:
		e.kind = fs.ModeNamedPipe
	case tar.TypeXGlobalHeader:
		return nil, nil
	default:
		return nil, fmt.Errorf("%s: it is an entry of type %q, which is not known", sayable(h.Name), string(h.Typeflag))
	}
	if h.Size > maxFile {
		return nil, fmt.Errorf("%s: it claims %d bytes", sayable(h.Name), h.Size)
	}
	e.dir, e.base = clean(h.Name)
	if s.entries++; s.entries > maxEntries {
		return nil, fmt.Errorf("it has more than %d files", maxEntries)
	}
	known, ok := s.dirs[e.dir]
	if !ok {
		known = e.dir
		s.dirs[known] = known
		s.names += int64(len(known))
	}
	e.dir = known
	if s.names += int64(len(e.base) + len(e.link) + len(e.hard)); s.names > maxNames {
		return nil, fmt.Errorf("the names of its files take more than %d MiB", maxNames>>20)
	}
	if e.kind == fs.ModeSymlink && e.link == "" {
		return nil, fmt.Errorf("%s: a symbolic link to nothing", sayable(h.Name))
	}
	return e, nil
}

// sayable returns as much of a name as a sentence has room for; one of an archive can have a megabyte.
func sayable(name string) string {
	if len(name) > 300 {
		return name[:300] + "…"
	}
	return name
}

// contents keeps what may be needed of a file.
func (s *shelf) contents(e *entry, t io.Reader) error {
	if e.body.size == 0 {
		return nil
	}
	var head [4]byte
	n, err := io.ReadFull(t, head[:min(e.body.size, 4)])
	if err != nil {
		return cutShort(err)
	}
	r := io.MultiReader(bytes.NewReader(head[:n]), t)
	isELF := string(head[:n]) == "\x7fELF"
	loader := strings.HasPrefix(e.base, "ld-") && e.body.size <= maxLoader // its constants name the system's directories
	if isELF && e.body.size > headKept && !loader {
		e.body.pieces, e.body.spilled, err = s.elfFile(e.base, r, e.body.size)
		return err
	}
	name := path.Join(e.dir, e.base)
	if isELF || keepsWhole(name, e.body.size) {
		return s.all(e.body, r)
	}
	if string(head[:min(n, 2)]) == "#!" && e.body.mode&0o111 != 0 {
		if r, err = s.beginning(e.body, r); err != nil {
			return err
		}
	}
	if strings.HasSuffix(name, ".py") && e.body.size <= maxPython {
		return s.python(e.body, r)
	}
	return nil
}

// python keeps what is needed of a Python file: its imports and the names that it defines. The texts of an image's
// Python files, up to 300 MB, would take more than everything else.
func (s *shelf) python(b *body, r io.Reader) error {
	s.source = slices.Grow(s.source[:0], int(b.size))[:b.size]
	if _, err := io.ReadFull(r, s.source); err != nil {
		return cutShort(err)
	}
	data, err := json.Marshal(pysource.Summarize(s.source))
	if err != nil {
		return err
	}
	at, err := s.store.add(data)
	b.python = piece{0, int64(len(data)), at}
	return err
}

// beginning keeps what the kernel reads of a script to find its interpreter, and passes on the whole script.
func (s *shelf) beginning(b *body, r io.Reader) (io.Reader, error) {
	head := make([]byte, min(b.size, scriptKept))
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, cutShort(err)
	}
	at, err := s.store.add(head)
	b.pieces = []piece{{0, int64(len(head)), at}}
	return io.MultiReader(bytes.NewReader(head), r), err
}

// all keeps a whole file.
func (s *shelf) all(b *body, r io.Reader) error {
	for kept := int64(0); kept < b.size; {
		n, err := io.ReadFull(r, s.buffer[:min(b.size-kept, chunk)])
		if err != nil {
			return cutShort(err)
		}
		at, err := s.store.add(s.buffer[:n])
		if err != nil {
			return err
		}
		if len(b.pieces) == 0 {
			b.pieces = []piece{{0, 0, at}}
		}
		b.pieces[0].n += int64(n)
		kept += int64(n)
	}
	return nil
}
