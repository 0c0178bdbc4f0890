package host

import (
	"debug/elf"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ReadQuietly returns a file's bytes, or nil if it cannot be read. It is for hints that another source can replace.
func (h *Host) ReadQuietly(name string) []byte {
	data, err := h.ReadFile(name)
	if err != nil {
		return nil
	}
	return data
}

// ParseINI reads "[section]" and "key = value" lines; keys are "section.key".
func ParseINI(data []byte) map[string]string {
	values := map[string]string{}
	section := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = line[1 : len(line)-1]
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && line[0] != '#' && line[0] != ';' {
			values[section+"."+strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return values
}

// SplitPath returns the absolute directories of a list such as PATH.
func SplitPath(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ":"), func(dir string) bool { return !strings.HasPrefix(dir, "/") })
}

// FirstThere returns the first of the names that can be reached, empty when none can.
func (h *Host) FirstThere(names ...string) string {
	i := slices.IndexFunc(names, h.Exists)
	if i < 0 {
		return ""
	}
	return names[i]
}

// Constants reads a library's .rodata; nothing where it has no such section.
func Constants(r io.ReaderAt) (io.Reader, error) {
	file, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("not an ELF file: %w", err)
	}
	section := file.Section(".rodata")
	if section == nil || section.Type != elf.SHT_PROGBITS {
		return strings.NewReader(""), nil
	}
	size := min(section.FileSize, rodataCap)
	return io.NewSectionReader(ToSearch(r), int64(section.Offset), int64(size)), nil
}

// rodataCap limits what is read of a library's constants. libtorch_cuda.so's .rodata has about 30 MB.
const rodataCap = 64 << 20
