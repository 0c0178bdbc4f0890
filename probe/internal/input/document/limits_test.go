package document

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"
)

// TestLimitsBelongToWhatIsRead checks that a document at the limit is read, and one beyond it is not.
func TestLimitsBelongToWhatIsRead(t *testing.T) {
	for n, want := range map[int]bool{0: true, 2: true, 3: false} {
		if err := TooMany(n, 2, "lines"); (err == nil) != want {
			t.Errorf("%d of 2: %v", n, err)
		}
	}
}

// TestMembers counts the members of lists by hand.
func TestMembers(t *testing.T) {
	for text, want := range map[string]listCount{
		`{}`:                             {},
		`[]`:                             {},
		`[1, true, null,-2e3]`:           {longest: 4, all: 4},
		`["a,b", "c\"]", {"x": [1, 2]}]`: {longest: 3, all: 5},
		`{"gpus": [{"a": 1}, {}], "builds": ["x"], "x": {"gpus": [{}]}}`: {longest: 2, all: 4,
			named: map[string]int{"gpus": 3}},
		`{"builds": [[{}], {}]}`: {longest: 2, all: 3, named: map[string]int{"builds": 2}},
		`]]}},,"\`:               {},
	} {
		got := listCount{named: map[string]int{}}
		got.document([]byte(text))
		if got.longest != want.longest || got.all != want.all || len(got.named) != len(want.named) ||
			got.named["gpus"] != want.named["gpus"] {
			t.Errorf("%s: %d, %d, %v; want %d, %d, %v", text, got.longest, got.all, got.named, want.longest, want.all,
				want.named)
		}
	}
}

// TestRows counts what begins a line, and neither hashes below a requirement nor comments.
func TestRows(t *testing.T) {
	if n := countRows([]byte("torch==2.9.0 \\\n    --hash=sha256:00\n\n# why\nnumpy\nlast")); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

// TestInlineTables counts the inline tables of one table, anywhere in the file.
func TestInlineTables(t *testing.T) {
	if n := countInline([]byte("[a]\nx = [{}, {}, {}]\n[b]\nx = [{}]\n[[c]]\n")); n != 3 {
		t.Errorf("%d inline tables, want 3", n)
	}
}

// TestUTF16 compares with the library what characters outside the first plane and halves of them become.
func TestUTF16(t *testing.T) {
	for _, text := range []string{"", "torch==2.9.0\r\n", "größe 🙂 \u2028", "🙂"} {
		units := utf16.Encode([]rune(text))
		for _, units := range [][]uint16{units, append(units, 0xD83D), append([]uint16{0xDE42, 0xD83D}, units...)} {
			data := []byte{}
			for _, u := range units {
				data = binary.LittleEndian.AppendUint16(data, u)
			}
			if got, want := string(fromUTF16(data, binary.LittleEndian)), string(utf16.Decode(units)); got != want {
				t.Errorf("%x: %q, want %q", units, got, want)
			}
		}
	}
}
