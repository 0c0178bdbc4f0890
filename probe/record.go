package probe

import (
	"path"
	"regexp"
	"strconv"
)

// sharedLibrary matches the wheels whose CUDA families own the same files.
var sharedLibrary = regexp.MustCompile(`^nvidia-(nccl|cudnn|nvshmem|cusparselt)-cu\d+$`)

// recordLine matches one library of RECORD: "nvidia/nccl/lib/libnccl.so.2,sha256=…,291703920".
var recordLine = regexp.MustCompile(`(?m)^(nvidia/\w+/lib/lib\S+?\.so[.\d]*),sha256=[^,]*,(\d+)\r?$`)

// markOverwritten finds wheels of one library in two CUDA families and compares their files' sizes with what RECORD
// says: both own one path, and the one installed last has won. Sizes tell, and cost nothing.
func (s *site) markOverwritten(h *Host) {
	for i := range s.dists {
		m := sharedLibrary.FindStringSubmatch(s.dists[i].Name)
		if m != nil && len(s.twins(m[1])) > 1 {
			s.dists[i].Overwritten = overwritten(h, s.dir, s.dists[i].Path)
		}
	}
}

// overwritten says that a library of the distribution does not have its recorded size.
func overwritten(h *Host, dir, distInfo string) bool {
	data, err := h.ReadFile(distInfo + "/RECORD")
	if err != nil {
		return false
	}
	for _, m := range recordLine.FindAllSubmatch(data, -1) {
		size, err := strconv.ParseInt(string(m[2]), 10, 64)
		if err != nil {
			continue
		}
		if have, err := h.size(path.Join(dir, string(m[1]))); err == nil && have != size {
			return true
		}
	}
	return false
}

// size is a regular file's length in bytes.
func (h *Host) size(name string) (int64, error) {
	f, err := h.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
