package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/matrix"
)

// module returns a WebAssembly module with a type section, one memory and a custom section of so many bytes that no
// compression makes smaller.
func module(memory []byte, bulk int) []byte {
	wasm := []byte("\x00asm\x01\x00\x00\x00\x01\x01\x00")
	if memory != nil {
		wasm = append(append(wasm, memorySection, byte(len(memory))), memory...)
	}
	var noise []byte
	for sum := sha256.Sum256(nil); len(noise) < bulk; sum = sha256.Sum256(sum[:]) {
		noise = append(noise, sum[:]...)
	}
	wasm = binary.AppendUvarint(append(wasm, 0), uint64(len(noise)+1))
	return append(append(wasm, 0), noise...)
}

// TestLimitMemory checks that the memory section gets a maximum and every other byte stays.
func TestLimitMemory(t *testing.T) {
	for _, c := range []struct {
		name         string
		memory, want []byte
	}{
		{"none", []byte{1, 0, 0x85, 0x02}, []byte{1, 1, 0x85, 0x02, 0x80, 0x40}},
		{"another", []byte{1, 1, 17, 18}, []byte{1, 1, 17, 0x80, 0x40}},
		{"too-much", []byte{1, 0, 0x81, 0x40}, nil},
		{"shared", []byte{1, 3, 1, 2}, nil},
		{"no-memory", nil, nil},
	} {
		got, err := limitMemory(module(c.memory, 40), engineMemory)
		if want := module(c.want, 40); c.want != nil && (err != nil || !bytes.Equal(got, want)) || c.want == nil && err == nil {
			t.Errorf("%s: %x, %v, want %x", c.name, got, err, want)
		}
	}
	if _, err := limitMemory([]byte("MZ"), engineMemory); err == nil {
		t.Error("what is no module has a memory")
	}
}

// TestEngineBudget checks that an oversized engine ends the building of the site.
func TestEngineBudget(t *testing.T) {
	memory := []byte{1, 0, 16}
	b := &builder{Config: Config{Out: t.TempDir(), Engine: module(memory, engineBudget-100_000), Loader: []byte("// Go's")}}
	if err := b.engineFiles(); err != nil {
		t.Error(err)
	}
	b.Engine = module(memory, engineBudget)
	if err := b.engineFiles(); err == nil || !strings.Contains(err.Error(), "its budget is 5000000") {
		t.Errorf("%v, want an error", err)
	}
}

// TestPastePages checks that the two pages say that nothing is sent, and have a policy that prevents it.
func TestPastePages(t *testing.T) {
	b := &builder{Config: Config{Tables: matrix.Embedded(), Out: t.TempDir()}}
	if err := b.load(); err != nil {
		t.Fatal(err)
	}
	if err := b.enginePages(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"paste", "change"} {
		data, err := os.ReadFile(filepath.Join(b.Out, name, "index.html"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"<strong>Nothing is sent</strong>", "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src 'self'; form-action 'none'; base-uri 'none'",
			`<script defer src="../assets/paste.js">`} {
			if !strings.Contains(string(data), want) {
				t.Errorf("%s does not have %q", name, want)
			}
		}
	}
	if err := b.page("paste", page{Path: "other/"}); err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(filepath.Join(b.Out, "other/index.html"))
	if err != nil || strings.Contains(string(other), "wasm-unsafe-eval") {
		t.Errorf("a page without the engine may run it: %v", err)
	}
	for _, name := range []string{"paste.js", "engine.js", "worker.js"} {
		data, err := files.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "sendBeacon", "XMLHttpRequest(", "WebSocket(", "location.assign", "location.href ="} {
			if bytes.Contains(data, []byte(word)) {
				t.Errorf("%s uses %s", name, word)
			}
		}
	}
}
