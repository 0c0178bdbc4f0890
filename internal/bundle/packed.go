package bundle

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Packed is what the program carries of a directory's files: a zip that is read in place. In it a file is an archive of
// its own, compressed as a whole, and so is a directory, whose files say much alike and are read together. Zstandard
// takes a tenth less than what other programs can read of a zip, and a third of the time to unpack.
type Packed struct {
	*zip.Reader
	archives map[string]func() stored // by the file or directory that is in it
}

// stored is an archive whose files are not compressed.
type stored struct {
	*zip.Reader
	data []byte
}

// archived ends the name of an entry that is an archive.
const archived = ".zip.zst"

// Unpack opens what Pack wrote. An archive is unpacked when the first of its files is opened.
func Unpack(data []byte) *Packed {
	p := &Packed{archive(data).Reader, map[string]func() stored{}}
	for _, f := range p.File {
		if name, ok := strings.CutSuffix(f.Name, archived); ok {
			p.archives[name] = sync.OnceValue(func() stored { return archive(p.unpack(f.Name)) })
		}
	}
	return p
}

func (p *Packed) unpack(entry string) []byte {
	packed, err := fs.ReadFile(p.Reader, entry)
	must(err)
	data, err := decoder().DecodeAll(packed, nil)
	must(err)
	return data
}

func archive(data []byte) stored {
	files, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	must(err)
	return stored{files, data}
}

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	must(err)
	return d
})

// must ends the program where what it carries cannot be read: a test reads all of it.
func must(err error) {
	if err != nil {
		panic("packed files: " + err.Error())
	}
}

// Open opens a file, or a directory but for the uppermost, which nobody lists.
func (p *Packed) Open(name string) (fs.File, error) {
	top, _, _ := strings.Cut(name, "/")
	if files, ok := p.archives[top]; ok {
		return files().Open(name)
	}
	return p.Reader.Open(name)
}

// ReadFile reads a whole file, in place: a run reads some hundred kilobytes so. Nobody writes to it.
func (p *Packed) ReadFile(name string) ([]byte, error) {
	top, _, _ := strings.Cut(name, "/")
	files, packed := p.archives[top]
	if !packed {
		return fs.ReadFile(struct{ fs.FS }{p}, name)
	}
	for _, f := range files().File {
		if f.Name == name {
			at, err := f.DataOffset()
			end := at + int64(f.UncompressedSize64)
			return files().data[at:end:end], err
		}
	}
	return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
}

// Tables are what the comments in a packed program's directory say: every run asks for them. None where the files are
// not packed.
func Tables(files fs.FS) []Table {
	packed, ok := files.(*Packed)
	if !ok {
		return nil
	}
	var list []Table
	for _, f := range packed.File {
		if date, hash, ok := strings.Cut(f.Comment, " "); ok {
			list = append(list, Table{tableOf(strings.TrimSuffix(f.Name, archived)), date, hash})
		}
	}
	return list
}

// tableOf is the table of which a file or directory is.
func tableOf(name string) string { return strings.TrimSuffix(name, ".csv") }

// plain are tables that nearly every judgement reads whole. They are kept as they are: unpacking them would take as
// long as reading them does, at every run, to save 50 kB.
var plain = []string{"advisory.csv", "driver_branch.csv", "gpu.csv", "minor_compat.csv", "triton.csv"}

// Pack writes files and directories for Unpack, with what is known of tables. The same files make the same bytes.
func Pack(w io.Writer, files fs.FS, tables []Table) error {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	archive := zip.NewWriter(w)
	for _, e := range entries {
		name, data := e.Name(), []byte(nil)
		if slices.Contains(plain, name) {
			data, err = fs.ReadFile(files, name)
		} else if data, err = store(files, name); err == nil {
			data = encoder.EncodeAll(data, nil)
			name += archived
		}
		if err != nil {
			return err
		}
		header := zip.FileHeader{Name: name, Method: zip.Store}
		if i := slices.IndexFunc(tables, func(t Table) bool { return t.Name == tableOf(e.Name()) }); i >= 0 {
			header.Comment = tables[i].Date + " " + tables[i].SHA256
		}
		if err := add(archive, header, data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// store makes an archive of a file, or of a directory's, as they are.
func store(files fs.FS, root string) ([]byte, error) {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	err := fs.WalkDir(files, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return add(archive, zip.FileHeader{Name: name, Method: zip.Store}, data)
	})
	if err == nil {
		err = archive.Close()
	}
	return b.Bytes(), err
}

func add(archive *zip.Writer, header zip.FileHeader, data []byte) error {
	entry, err := archive.CreateHeader(&header)
	if err != nil {
		return err
	}
	_, err = entry.Write(data)
	return err
}
