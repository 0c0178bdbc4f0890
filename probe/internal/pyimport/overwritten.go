package pyimport

import (
	"fmt"
	"path"
	"strconv"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
)

// sharedLibrary matches the wheels whose CUDA families own the same files.
var sharedLibrary = lazyregexp.New(`^nvidia-(nccl|cudnn|nvshmem|cusparselt)-cu\d+$`)

// recordLine matches one library of RECORD, whose hash is base64 without padding:
// "nvidia/nccl/lib/libnccl.so.2,sha256=MP9Q…,291703920".
var recordLine = lazyregexp.New(`(?m)^(nvidia/\w+/lib/lib\S+?\.so[.\d]*),sha256=([^,]*),(\d+)\r?$`)

// MarkOverwritten finds wheels of one library in two CUDA families and compares their files with what RECORD says: both
// own one path, and the one installed last has won.
func MarkOverwritten(s *pyenv.Site, h *host.Host) {
	for i := range s.Dists {
		m := sharedLibrary.FindStringSubmatch(s.Dists[i].Name)
		if m != nil && len(s.Twins(m[1])) > 1 {
			s.Dists[i].Altered = alteredLibrary(h, s.Dir, s.Dists[i].Path)
			s.Dists[i].Overwritten = s.Dists[i].Altered != ""
		}
	}
}

// alteredLibrary says which library of a distribution is not the one of its RECORD: by the size, which costs nothing, and
// where that is the same by the hash of what is small.
func alteredLibrary(h *host.Host, dir, distInfo string) string {
	data, err := h.ReadFile(distInfo + "/RECORD")
	if err != nil {
		return ""
	}
	for m := range recordLine.EachSubmatch(data) {
		name := string(m[1])
		recorded, err := strconv.ParseInt(string(m[3]), 10, 64)
		if err != nil {
			continue
		}
		size, err := h.Size(path.Join(dir, name))
		switch {
		case host.Absent(err):
			return name + " is gone"
		case err != nil:
		case size != recorded:
			return fmt.Sprintf("%s has %d bytes, RECORD says %d", name, size, recorded)
		case size < hashedSize && pydist.HashOf(h, path.Join(dir, name)) != string(m[2]):
			return name + " has another sha256 than RECORD says"
		}
	}
	return ""
}

// hashedSize is up to which size, in bytes, a file is worth hashing.
const hashedSize = 1 << 20
