package dockerfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cudacompat/probe/internal/input/dockerfile/instruction"
)

// TestBuildKit compares the reader of Dockerfiles with BuildKit's parser, which tools/lab/buildkit/compare.sh builds.
func TestBuildKit(t *testing.T) {
	parser := os.Getenv("CUDACOMPAT_BUILDKIT")
	if parser == "" {
		t.Skip("by hand: tools/lab/buildkit/compare.sh")
	}
	const count = 20_000
	files := make([]string, count)
	var input bytes.Buffer
	random := rand.New(rand.NewPCG(1, 2))
	for i := range files {
		files[i] = randomDockerfile(random)
		if err := json.NewEncoder(&input).Encode(files[i]); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(parser)
	command.Stdin = &input
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	type want struct {
		Line  int
		Name  string
		Flags []string
		List  []string
		Docs  [][2]string
	}
	answers := bufio.NewScanner(bytes.NewReader(out))
	answers.Buffer(nil, 1<<20)
	compared := 0
	for _, file := range files {
		answers.Scan()
		var wanted []want
		if err := json.Unmarshal(answers.Bytes(), &wanted); err != nil {
			t.Fatal(err)
		}
		if wanted == nil {
			continue // a file that BuildKit refuses
		}
		compared++
		var got []want
		list, _ := instruction.Parse(file)
		for _, i := range list {
			w := want{Line: i.Number, Name: i.Name, Flags: i.Flags}
			if len(i.List) > 0 && i.Name != "ENV" && i.Name != "ARG" && i.Name != "FROM" && i.Name != "ONBUILD" {
				w.List = i.List
			}
			for _, h := range i.Docs {
				w.Docs = append(w.Docs, [2]string{h.Name, h.Body()})
			}
			got = append(got, w)
		}
		wanted = slices.DeleteFunc(wanted, func(w want) bool { return w.Name == "" })
		for i := range wanted {
			if len(wanted[i].Flags) == 0 {
				wanted[i].Flags = nil
			}
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%q:\n%s", file, diff)
		}
	}
	t.Logf("%d files compared, %d refused", compared, count-compared)
}

// randomDockerfile strings together what the two readers could read differently.
func randomDockerfile(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	var text strings.Builder
	if random.IntN(4) == 0 {
		text.WriteString(pick("# escape=`\n", "# escape = \\\n", "#syntax=docker/dockerfile:1\n# escape=`\n", "# hello\n# escape=`\n"))
	}
	text.WriteString("FROM a\n")
	for range random.IntN(8) {
		text.WriteString(pick("RUN ", "run ", "COPY ", "ADD ", "ENV A=", "ARG A=", "ONBUILD RUN ", "LABEL a=", "  RUN\t", "# ", "", "RUN [",
			"RUN --mount=type=bind,source=a,target=b ", "COPY --from='a b' "))
		for range 1 + random.IntN(6) {
			text.WriteString(pick("a", "b ", " ", "\t", "\\\n", "`\n", "\\ \n", "\\\\\n", "\n", "\n\n", "\"", "'", "\"c d\"", "'e f'", "<<A ", "<<-A ",
				"<<'A' ", "<< A ", "<<A<<B ", "<<<A ", "3<<B ", "\nA\n", "\n\tA\n", "\nB\n", "# c", "\n# d\n", "\\\n# d\n", "\\\n\n", "$A", "${A}",
				"${A:-b c}", "&& ", "]", `"x", "y"]`, "--d ", "RUN x\n", "\\a"))
		}
		text.WriteString("\n")
	}
	return text.String()
}
