package dockerfile

import (
	"slices"
	"testing"

	"cudacompat/probe/internal/input/dockerfile/instruction"
	"cudacompat/probe/internal/input/document"
)

// FuzzShell: no text of a RUN ends the reader.
func FuzzShell(f *testing.F) {
	for _, text := range []string{"fi fi done", "if [ a = b ]; then x; else y; fi", "case x in y) z ;; esac", "! ! (", "$(",
		"f() { f; }; f", "for i in a b; do pip install $i; done", "bash <<A && cat <<-B\nx\nA\n\ty\nB", "a=(1 2); b ${a[@]:0:1}",
		"x ${a/b/c} ${a:1:-1} ${a%%.*} \"${a[@]}\"", "echo a | cut -d. -f1 | sh"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := newDockerfile(document.Document{})
		list, _ := instruction.Parse("FROM a\nENV a=1 b=${a:-2}\nRUN " + text + "\nRUN <<E\n" + text + "\nE\n")
		for _, i := range list {
			d.instruction(&i)
		}
	})
}

// TestHeredocs: which texts BuildKit takes for those of an instruction. Its own parser was asked about each.
func TestHeredocs(t *testing.T) {
	for line, want := range map[string][]string{
		"RUN <<EOF": {"EOF"}, "RUN <<-EOF": {"EOF"}, "RUN <<'EOF'": {"EOF"}, "RUN <<\"E F\"": {"E F"}, "RUN << EOF": {"EOF"},
		"RUN 3<<EOF cat": {"EOF"}, "RUN a <<A b <<B": {"A", "B"}, "RUN a<<EOF": nil, "RUN a '<<EOF'": nil, "RUN a <<<b": nil,
		"RUN it's <<EOF": nil, "ENV A=<<EOF": nil, "COPY --chown=a <<EOF b": {"EOF"}, "ONBUILD RUN <<EOF": {"EOF"},
		`RUN ["a", "<<EOF"]`: nil,
	} {
		list, _ := instruction.Parse(line + "\nEOF\nA\nB\nE F\nEOF\n")
		var got []string
		for _, h := range list[0].Docs {
			got = append(got, h.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
