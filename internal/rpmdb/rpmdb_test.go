package rpmdb

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"cudacompat/internal/rpmdb/rpmdbtest"

	"github.com/google/go-cmp/cmp"
	"github.com/ulikunitz/xz"
)

// installed is what testdata/make.sh installs; the log then adds one and takes one away.
const installed = `bash=5.2.15-1.amzn2023.0.2 filler1=1-1 filler10=1-1 filler11=1-1 filler12=1-1 filler2=1-1 filler3=1-1 filler4=1-1
	filler5=1-1 filler6=1-1 filler7=1-1 filler8=1-1 filler9=1-1 glibc=2.34-196.amzn2023.0.1 kmod-nvidia-open-dkms=3:580.95.05-1.amzn2023
	libnccl=2.27.7-1+cuda13.0 nvidia-driver-cuda=3:580.95.05-1.amzn2023 nvidia-driver-cuda-libs=3:580.95.05-1.amzn2023 nvidia-fabricmanager=580.95.05-1`

func TestRead(t *testing.T) {
	before := strings.Fields(installed)
	slices.Sort(before)
	after := strings.Fields(strings.Replace(installed, "filler3=1-1", "libcudnn9-cuda-13=9.13.0.50-1", 1))
	slices.Sort(after)
	wal := testFile(t, "rpmdb.sqlite-wal")
	damaged := bytes.Clone(wal)
	damaged[walHead+walFrameHead] ^= 1 // of the first frame: nothing of the log counts
	cut := wal[:len(wal)-1]            // the last commit is not whole
	foreign := bytes.Clone(wal)
	foreign[17] ^= 1 // a salt: its sum no longer fits
	for _, tt := range []struct {
		name, db string
		log      []byte
		want     []string
	}{
		{"sqlite", "rpmdb.sqlite", nil, before},
		{"sqlite-log", "rpmdb.sqlite", wal, after},
		{"sqlite-empty-log", "rpmdb.sqlite", []byte{}, before},
		{"sqlite-garbage-log", "rpmdb.sqlite", bytes.Repeat([]byte("log "), 99), before},
		{"sqlite-damaged-log", "rpmdb.sqlite", damaged, before},
		{"sqlite-foreign-log", "rpmdb.sqlite", foreign, before},
		{"sqlite-cut-log", "rpmdb.sqlite", cut, slices.DeleteFunc(slices.Clone(before),
			func(s string) bool { return s == "filler3=1-1" })},
		{"ndb", "Packages.db", nil, before},
		{"bdb", "Packages", nil, before},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db := testFile(t, tt.db)
			var log io.ReaderAt
			if tt.log != nil {
				log = bytes.NewReader(tt.log)
			}
			got, err := Read(bytes.NewReader(db), int64(len(db)), log)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, names(got)); diff != "" {
				t.Errorf("packages (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadDamaged cuts and fills real databases: what comes back is an error, or packages that were there.
func TestReadDamaged(t *testing.T) {
	for _, name := range []string{"rpmdb.sqlite", "Packages.db", "Packages"} {
		whole := testFile(t, name)
		for at := 0; at < len(whole); at += len(whole)/97 + 1 {
			cut, filled := whole[:at], bytes.Clone(whole)
			copy(filled[at:], bytes.Repeat([]byte{0xff}, 64))
			for _, db := range [][]byte{cut, filled} {
				list, err := Read(bytes.NewReader(db), int64(len(db)), nil)
				if err == nil && at < 4096 && len(db) < len(whole) {
					t.Errorf("%s cut at %d is taken for whole", name, at)
				}
				if len(list) > 19 {
					t.Errorf("%s damaged at %d has %d packages", name, at, len(list))
				}
			}
		}
	}
}

// TestReadEnds gives databases whose pages lead in circles.
func TestReadEnds(t *testing.T) {
	sqlite := testFile(t, "rpmdb.sqlite")
	page := func(db []byte, n uint32) []byte { return db[int(n-1)*4096:] }
	s, err := openSQLite(bytes.NewReader(sqlite), int64(len(sqlite)), nil)
	if err != nil {
		t.Fatal(err)
	}
	root, err := s.rootOf("Packages")
	if err != nil || page(sqlite, root)[0] != interiorPage {
		t.Fatalf("root %d, %v; the test wants a table of several pages", root, err)
	}
	circle := bytes.Clone(sqlite)
	binary.BigEndian.PutUint32(page(circle, root)[8:], root)
	bdb := testFile(t, "Packages")
	chain := bytes.Clone(bdb)
	for n := uint32(1); int(n)*4096 < len(chain); n++ {
		if p := chain[n*4096:]; p[25] == bdbOverflow {
			binary.LittleEndian.PutUint32(p[16:], n)
			binary.BigEndian.PutUint32(p[bdbItems:], maxEntries) // more than the page holds
		}
	}
	for name, db := range map[string][]byte{"sqlite": circle, "bdb": chain} {
		if list, err := Read(bytes.NewReader(db), int64(len(db)), nil); err == nil {
			t.Errorf("%s: %d packages and no error", name, len(list))
		}
	}
}

// TestReadClaims gives a page that is its own child and a log that claims 2^32-1 pages: without a bound on the depth
// the stack grows until the process dies.
func TestReadClaims(t *testing.T) {
	const size = 512
	page := selfish(size)
	for _, cells := range []uint16{0, 3} { // three children each are 3^20 ways
		binary.BigEndian.PutUint16(page[103:], cells)
		for i := range cells {
			binary.BigEndian.PutUint16(page[112+2*i:], 200)
		}
		binary.BigEndian.PutUint32(page[200:], 1)
		if _, err := Read(bytes.NewReader(page), size, bytes.NewReader(claiming(page, 1<<32-1))); err == nil {
			t.Errorf("%d cells: no error", cells)
		}
	}
}

// selfish returns a database of one interior page whose right child is itself.
func selfish(size uint16) []byte {
	page := make([]byte, size)
	copy(page, sqliteMagic)
	binary.BigEndian.PutUint16(page[16:], size)
	page[18] = 2
	binary.BigEndian.PutUint32(page[56:], 1)
	page[100] = interiorPage
	binary.BigEndian.PutUint32(page[108:], 1)
	return page
}

// claiming returns a write-ahead log with one frame that claims a database of this many pages.
func claiming(page []byte, pages uint32) []byte {
	sums := walSums{order: binary.LittleEndian}
	sum := func(data []byte) []byte {
		sums.add(data)
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, sums.a), sums.b)
	}
	words := func(n ...uint32) (out []byte) {
		for _, w := range n {
			out = binary.BigEndian.AppendUint32(out, w)
		}
		return out
	}
	salts := []byte("SALTSALT")
	head := append(words(walMagic, 3007000, uint32(len(page)), 0), salts...)
	frame := words(1, pages)
	log := append(head, sum(head)...)
	sums.add(frame)
	return slices.Concat(log, frame, salts, sum(page), page)
}

func FuzzRead(f *testing.F) {
	small, err := rpmdbtest.SQLite("nvidia-driver-cuda 3:580.95.05-1.amzn2023\nlibnccl 2.27.7-1+cuda13.0\n")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small, []byte(nil))
	wal := testFile(f, "rpmdb.sqlite-wal")
	f.Add(testFile(f, "rpmdb.sqlite")[:3*4096], wal[:walHead+2*(walFrameHead+4096)])
	f.Add(selfish(512), claiming(selfish(512), 1<<32-1))
	f.Add(testFile(f, "Packages.db")[:3*4096], []byte(nil))
	f.Add(testFile(f, "Packages")[:8*4096], []byte(nil))
	f.Fuzz(func(t *testing.T, db, wal []byte) {
		list, _ := Read(bytes.NewReader(db), int64(len(db)), bytes.NewReader(wal))
		for _, p := range list {
			if len(p.Name) >= maxString || len(p.Version) > 2*maxString+12 || strings.ContainsRune(p.Name+p.Version, 0) {
				t.Errorf("%q", p)
			}
		}
	})
}

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".xz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := xz.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
