package pydist

import (
	"bytes"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
)

// Info is one dist-info directory, "/opt/venv/lib/python3.12/site-packages/xgboost-3.4.1.dist-info".
type Info struct {
	Name, Version, dir, entry string
	IsDir                     bool // and no link to one
}

// Path is where it is. It is put together when it is asked for: most of a hundred thousand never are.
func (i Info) Path() string { return path.Join(i.dir, i.entry) }

// InfosIn lists those of a directory, one for each distribution. What pip could not remove begins with a tilde and is
// nobody's; of two that a broken upgrade left, the one whose files are there counts.
func InfosIn(h *host.Host, dir string, entries []fs.DirEntry) []Info {
	var list []Info
	at := map[string]int{}
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), ".dist-info")
		name, version, _ := strings.Cut(stem, "-")
		if !ok || name == "" || name[0] == '~' {
			continue
		}
		one := Info{distname.Normal(name), version, dir, e.Name(), e.IsDir()}
		i, twice := at[one.Name]
		if !twice {
			at[one.Name] = len(list)
			list = append(list, one)
			continue
		}
		list[i] = moreIntact(h, list[i], one)
	}
	return list
}

// moreIntact is the one of two with fewer files that are not as it says, else the newer one; its version is that of
// METADATA, for a directory may have been copied.
func moreIntact(h *host.Host, a, b Info) Info {
	for _, one := range []*Info{&a, &b} {
		if version, _ := ParseMetadata(h.ReadQuietly(one.Path() + "/METADATA")); version != "" {
			one.Version = version
		}
	}
	wrongA, wrongB := a.mismatches(h), b.mismatches(h)
	if wrongB < wrongA || wrongB == wrongA && version.Of(a.Version).Less(version.Of(b.Version)) {
		return b
	}
	return a
}

// maxCompared is how many files of a RECORD are compared with what is there.
const maxCompared = 100

// mismatches counts the files of a RECORD, from its beginning, that are gone or of another size.
func (i Info) mismatches(h *host.Host) int {
	count, seen := 0, 0
	for line := range bytes.Lines(h.ReadQuietly(i.Path() + "/RECORD")) {
		name, size := recordedFile(line)
		if size < 0 || strings.Contains(name, ".dist-info/") {
			continue
		}
		if seen++; seen > maxCompared {
			break
		}
		if there, err := h.Size(path.Join(i.dir, name)); err != nil || there != size {
			count++
		}
	}
	return count
}

// recordedFile is the name and the size of a RECORD's line, "xgboost/VERSION,sha256=…,6"; -1 where it tells no size.
func recordedFile(line []byte) (name string, size int64) {
	fields := strings.Split(strings.TrimSpace(string(line)), ",")
	size, err := strconv.ParseInt(fields[len(fields)-1], 10, 64)
	if err != nil || len(fields) < 3 {
		return "", -1
	}
	return strings.Trim(strings.Join(fields[:len(fields)-2], ","), `"`), size
}
