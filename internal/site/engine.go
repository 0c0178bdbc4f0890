package site

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
)

// engineFile is the engine: the program, built for a browser.
const engineFile = "engine.bin"

// The engine is the program itself, built for a browser. A page loads it when it is first used.
const (
	// engineBudget is how many bytes of it travel. The rest of the site has a budget of its own.
	engineBudget = 5_000_000
	// engineMemory is how much memory it may take, in pages of 64 KiB: 512 MiB.
	engineMemory = 8192
)

// enginePages writes the pages that run the engine, and the engine.
func (b *builder) enginePages() error {
	b.listed("Paste a report, a log or a lock", "paste/", "paste report log lock collect_env nvidia-smi Dockerfile requirements")
	b.listed("What does a change cost?", "change/", "change bump diff locks releases requires")
	if err := b.page("paste", page{Title: "Paste a report, a log or a lock", Path: "paste/", Scripts: []string{"paste.js"}, Engine: true,
		Description: "Judges what collect_env or nvidia-smi prints, requirements, locks, Dockerfiles and logs, in the browser. Nothing is sent."}); err != nil {
		return err
	}
	if err := b.page("change", page{Title: "What does a change cost?", Path: "change/", Scripts: []string{"paste.js"}, Engine: true,
		Description: "Compares two locks or releases: which GPUs are lost, and which need a newer driver. Nothing is sent."}); err != nil {
		return err
	}
	return b.engineFiles()
}

// engineFiles writes the engine, compressed and within its memory, and the script of Go's that starts it.
func (b *builder) engineFiles() error {
	if b.Engine == nil {
		return nil
	}
	wasm, err := limitMemory(b.Engine, engineMemory)
	if err != nil {
		return fmt.Errorf("the engine: %w", err)
	}
	packed, err := pack(wasm)
	if err != nil {
		return err
	}
	if len(packed) > engineBudget {
		return fmt.Errorf("the engine has %d bytes, compressed; its budget is %d", len(packed), engineBudget)
	}
	// Not .gz: some servers unpack a file of that name on the way, and others do not.
	if err := b.write("assets/"+engineFile, packed); err != nil {
		return err
	}
	return b.write("assets/wasm_exec.js", b.Loader)
}

func pack(data []byte) ([]byte, error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err = z.Close()
	return packed.Bytes(), err
}

// memorySection is the number of a module's section that declares its memory.
const memorySection = 5

// limitMemory returns a WebAssembly module whose one memory has a maximum, in pages of 64 KiB. Go's linker sets none.
func limitMemory(wasm []byte, most uint64) ([]byte, error) {
	const head = 8 // the magic and the version
	if !bytes.HasPrefix(wasm, []byte("\x00asm")) || len(wasm) < head {
		return nil, errors.New("it is not a WebAssembly module")
	}
	for at := head; at < len(wasm); {
		id := wasm[at]
		size, n := binary.Uvarint(wasm[at+1:])
		body := at + 1 + n
		if n <= 0 || uint64(len(wasm)-body) < size {
			break
		}
		end := body + int(size)
		if id == memorySection {
			section, err := limitedMemory(wasm[body:end], most)
			if err != nil {
				return nil, err
			}
			out := append(bytes.Clone(wasm[:at]), memorySection)
			out = binary.AppendUvarint(out, uint64(len(section)))
			return append(append(out, section...), wasm[end:]...), nil
		}
		at = end
	}
	return nil, errors.New("it declares no memory")
}

// limitedMemory returns the section's body for one memory of at least as many pages as before and at most most.
func limitedMemory(body []byte, most uint64) ([]byte, error) {
	if len(body) < 3 || body[0] != 1 || body[1] > 1 {
		return nil, errors.New("it does not declare one memory")
	}
	least, n := binary.Uvarint(body[2:])
	if n <= 0 || least > most {
		return nil, fmt.Errorf("it begins with %d pages of memory, and may have %d", least, most)
	}
	out := binary.AppendUvarint([]byte{1, 1}, least)
	return binary.AppendUvarint(out, most), nil
}
