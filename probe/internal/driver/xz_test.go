package driver

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"cudacompat/probe/host/hosttest"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// unpacked reads packed bytes as a module of that name.
func unpacked(packed []byte, name string) ([]byte, error) {
	r, done, err := decompress(bytes.NewReader(packed), name)
	if err != nil {
		return nil, err
	}
	defer done()
	return io.ReadAll(r)
}

// TestXZAsWritten unpacks what xz itself writes: every check, several blocks, threads, with sizes in the headers.
func TestXZAsWritten(t *testing.T) {
	tool, err := exec.LookPath("xz")
	if err != nil {
		t.Skip(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	plain := make([]byte, 300_001)
	for i := range plain {
		plain[i] = byte(random.IntN(16))
	}
	for _, args := range []string{"-0", "-6", "--check=none", "--check=crc32 --lzma2=dict=1MiB", "--check=crc64",
		"--check=sha256",
		"--block-size=65537", "-T2 --block-size=65536", "-9 --lzma2=dict=16MiB"} {
		cmd := exec.Command(tool, append(strings.Fields(args), "-c")...)
		cmd.Stdin = bytes.NewReader(plain)
		packed, err := cmd.Output()
		hosttest.Must(t, err)
		got, err := unpacked(packed, "nvidia.ko.xz")
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("xz %s: %d bytes of %d, %v", args, len(got), len(plain), err)
		}
		if _, err := unpacked(packed[:len(packed)/2], "nvidia.ko.xz"); err == nil {
			t.Errorf("xz %s: half of it is taken for whole", args)
		}
	}
}

// TestWindowCap refuses what would have its reader keep hundreds of megabytes, before it does.
func TestWindowCap(t *testing.T) {
	var out bytes.Buffer
	w, err := xz.WriterConfig{DictCap: 1 << 16, CheckSum: xz.CRC32}.NewWriter(&out)
	hosttest.Must(t, err)
	_, err = w.Write(make([]byte, 1<<20))
	hosttest.Must(t, err)
	hosttest.Must(t, w.Close())
	for size, want := range map[byte]string{24: "", 25: "24 MB", 30: "128 MB",
		40: "4095 MB"} { // 2^(n/2+12), odd ones half more
		packed := claiming(out.Bytes(), size)
		_, err := unpacked(packed, "nvidia.ko.xz")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), "a window of "+want)) {
			t.Errorf("dictionary %d: %v", size, err)
		}
	}
	for window, refused := range map[int]bool{8 << 20: false, 16 << 20: false, 512 << 20: true} {
		packed := zstdWith(t, window)
		if _, err := unpacked(packed, "nvidia.ko.zst"); (err != nil) != refused {
			t.Errorf("zstd window of %d: %v", window, err)
		}
	}
}

// claiming returns an .xz file whose only block claims another dictionary.
func claiming(packed []byte, dictionary byte) []byte {
	packed = bytes.Clone(packed)
	header := packed[12 : 12+(int(packed[12])+1)*4]
	header[bytes.Index(header, []byte{0x21, 1})+2] = dictionary
	binary.LittleEndian.PutUint32(header[len(header)-4:], crc32.ChecksumIEEE(header[:len(header)-4]))
	return packed
}

func zstdWith(t *testing.T, window int) []byte {
	t.Helper()
	var out bytes.Buffer
	buffered := bufio.NewWriter(&out)
	w, err := zstd.NewWriter(buffered, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	hosttest.Must(t, err)
	block := bytes.Repeat([]byte("version=1\n"), 100_000)
	for range 3 { // several writes: of one the size is known, and no window is claimed
		_, err = w.Write(block)
		hosttest.Must(t, err)
		hosttest.Must(t, w.Flush())
	}
	hosttest.Must(t, w.Close())
	hosttest.Must(t, buffered.Flush())
	return out.Bytes()
}
