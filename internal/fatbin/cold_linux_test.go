package fatbin

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkCold reads all of the library that FATBIN_LIB names, as Read does, with the file out of the page cache each
// time; "MB/s" is of the whole file.
func BenchmarkCold(b *testing.B) {
	path := os.Getenv("FATBIN_LIB")
	if path == "" {
		b.Skip("FATBIN_LIB names no library")
	}
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		b.StopTimer()
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := Read(f, info.Size()); err != nil {
			b.Fatal(err)
		}
	}
}
