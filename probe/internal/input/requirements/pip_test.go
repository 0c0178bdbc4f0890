package requirements

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/internal/input/request"
)

// pipProgram reads requirements files as pip itself does; what it refuses is null.
const pipProgram = `
import json, os, sys, tempfile
from pip._internal.network.session import PipSession
from pip._internal.req.constructors import install_req_from_parsed_requirement
from pip._internal.req.req_file import parse_requirements
from pip._vendor.packaging.utils import canonicalize_name
answers, session = [], PipSession()
for text in json.load(sys.stdin):
    with tempfile.TemporaryDirectory() as d:
        name = os.path.join(d, "requirements.txt")
        open(name, "wb").write(text.encode())
        try:
            found = []
            for parsed in parse_requirements(name, session=session):
                r = install_req_from_parsed_requirement(parsed)
                if r.req is not None:
                    found.append("%s[%s]%s" % (canonicalize_name(r.req.name), ",".join(sorted(r.req.extras)),
                                 "@" if r.link else ",".join(sorted(str(s).replace(" ", "") for s in r.req.specifier))))
            answers.append(found)
        except Exception:
            answers.append(None)
import pip
print(json.dumps({"version": pip.__version__, "answers": answers}))
`

// whole makes the comparison with pip long; without it it is a sample.
var whole = flag.Bool("whole", false, "compare with pip at length")

// realFiles names a list of real files, in JSON.
var realFiles = flag.String("files", "", "compare with pip on the texts in this JSON `FILE`, too")

// TestRequirementsAgainstPip compares requirements files with pip's own parser for a seed: what would be installed, and
// which files are rejected. Two differences are intended: "===1.0" is judged as "==1.0", and "jax==1.0" as the 1.0.0
// that it accepts.
func TestRequirementsAgainstPip(t *testing.T) {
	count := 150
	if *whole {
		count = 4_000
	}
	random := rand.New(rand.NewPCG(5, 6))
	texts := make([]string, count)
	for i := range texts {
		texts[i] = randomRequirements(random)
	}
	texts = append(texts, "# x \\\ntorch==2.9.0\n", "# numpy==1.26.4 \\\n#  --hash=sha256:aa \\\ntorch==2.9.0\n",
		"numpy==1\rtorch==2.9.0\r", "numpy==1\ftorch==2.9.0\n", "numpy==1\vtorch==2.9.0", "numpy==1\u0085torch==2.9.0",
		"numpy==1\u2028torch==2.9.0", "numpy==1\x1ctorch==2.9.0", "tor\\\nch==2.9.0\n", "numpy==1 # c \\\ntorch==2.9.0\n",
		"numpy==1 \\\n# c\ntorch==2.9.0\n", "numpy==1\u00a0# c\ntorch==2.9.0\n", "torch==2.9.0 \\", "numpy==1\r\n\r\ntorch==2.9.0\r\n")
	texts = append(texts, spellings(t)...)
	if *realFiles != "" {
		texts = append(texts, readTexts(t, *realFiles)...)
	}
	compareWithPip(t, texts)
}

// readTexts reads a list of texts in JSON.
func readTexts(t *testing.T, name string) (texts []string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &texts)
	}
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// spellings returns ways to write torch==2.9.0 and what only looks like it, each in several surroundings.
func spellings(t *testing.T) (texts []string) {
	t.Helper()
	for _, text := range readTexts(t, "testdata/spellings.json") {
		texts = append(texts, text, "numpy==1.26.4\n"+text+"\n", text+"\nnumpy==1.26.4 # c\n", "# c \\\n"+text+"\n",
			strings.ReplaceAll(text, "\n", "\r\n")+"\r\nnumpy==1.26.4\r\n", "\n\n  "+text+"\n\n")
	}
	return texts
}

// compareWithPip compares the names that pip's parser finds in requirements files, and which files it rejects.
func compareWithPip(t *testing.T, texts []string) {
	t.Helper()
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	python := exec.Command("python3", "-I", "-W", "ignore", "-c", pipProgram)
	python.Stdin = bytes.NewReader(input)
	out, err := python.Output()
	if err != nil {
		t.Skip("no python3 with pip here")
	}
	var pip struct {
		Version string
		Answers [][]string
	}
	if err := json.Unmarshal(out, &pip); err != nil {
		t.Fatal(err)
	}
	want := pip.Answers
	refusals, differences := 0, 0
	defer func() {
		t.Logf("%d files, of which pip %s refuses %d; %d differences", len(texts), pip.Version, refusals, differences)
	}()
	for i, text := range texts {
		if want[i] == nil && localPath.MatchString(text) || pip.Version < "24.1" && olderPip.MatchString(text) {
			continue // pip looks for the directory, which is not there
		}
		f := &File{}
		f.ReadLines(text)
		if want[i] == nil {
			refusals++
		}
		if refused := len(f.Bad) > 0; refused != (want[i] == nil) {
			differences++
			t.Errorf("%q: refused %v (%v), by pip %v", text, refused, f.Bad, want[i] == nil)
			continue
		} else if refused {
			continue
		}
		var got []string
		for _, p := range f.Named {
			got = append(got, requirementText(p))
		}
		want := asJudged(want[i])
		got = slices.DeleteFunc(got, func(text string) bool { // pip does not name a repository before it is cloned
			return strings.HasSuffix(text, "@") && !slices.Contains(want, text)
		})
		slices.Sort(got)
		if !slices.Equal(got, want) {
			differences++
			t.Errorf("%q:\n%q\npip has\n%q", text, got, want)
		}
	}
}

var (
	localPath = regexp.MustCompile(`(?m)^\s*(?:-e\s+|--editable[ =])?(?:\.{0,2}/|\.$|\./)`)
	// olderPip matches what pip parses differently since 24.1, which contains a stricter version parser.
	olderPip = regexp.MustCompile(`,\s*(?:[#;]|$|\n|\r)|==\s*(?:$|\n|\r|;)|>=\s*(?:$|\n|\r)|\d#|[^\x00-\x7f]|%25|\d\\\r?\nnumpy|[\d.]\*?[a-z]{4,}`)
)

// asJudged returns pip's names in the form in which they are judged: "===1.0" as "==1.0", torch 2.9 as 2.9.0, and a
// pinned release without the ranges beside it.
func asJudged(names []string) []string {
	var list []string
	for _, text := range names {
		name, asked, _ := strings.Cut(text, "]")
		asked = strings.ReplaceAll(asked, "===", "==")
		for part := range strings.SplitSeq(asked, ",") {
			if strings.HasPrefix(part, "==") && !strings.HasSuffix(part, ".*") {
				asked = part
			}
		}
		if strings.HasPrefix(name, "torch[") && strings.Count(asked, ".") == 1 && strings.HasPrefix(asked, "==") {
			asked += ".0"
		}
		list = append(list, name+"]"+asked)
	}
	slices.Sort(list)
	return list
}

// requirementText returns a package as pipProgram writes it.
func requirementText(p request.Package) string {
	slices.Sort(p.Extras)
	asked := strings.Trim(p.Specifier, "()")
	switch {
	case p.Direct:
		asked = "@"
	case p.Version != "":
		asked = "==" + p.Version
	case strings.Contains(asked, "no version given"):
		asked = ""
	default:
		parts := strings.Split(strings.TrimSuffix(asked, ","), ",")
		slices.Sort(parts)
		asked = strings.Join(parts, ",")
	}
	return fmt.Sprintf("%s[%s]%s", p.Name, strings.Join(p.Extras, ","), asked)
}

// randomRequirements returns a file of some lines as people write them, now and then wrongly.
func randomRequirements(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	names := []string{"numpy", "Torch_Audio", "foo.bar", "x-y", "flax", "vllm"}
	line := func() string {
		name := pick(names...) + pick("", "", "", "[a]", "[a, b-c]", " [a]")
		marker := pick("", "", "", " ; python_version >= '3.8'", "; sys_platform == 'linux' and extra == 'x'", ";os_name=='posix'")
		switch random.IntN(13) {
		case 0:
			return pick("", "   ", "# numpy==1", "  # x", "#")
		case 1:
			return pick("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host") + pick(" ", "=") +
				pick("https://x.example/simple", "'https://x.example/whl/cu126'", "x.example")
		case 2:
			return pick("--pre", "--no-index", "--prefer-binary", "--require-hashes", "--use-feature=fast-deps",
				"--no-binary=:all:", "--only-binary :all:")
		case 3:
			return name + pick("@", " @ ") + pick("https://x.example/foo-1.0-py3-none-any.whl", "git+https://x.example/a/foo.git@v1") +
				pick("", " ; python_version >= '3.8'")
		case 4:
			return name + pick("==1.2", " == 1.2.*", ">=1,<2", "~=1.4.2", "!=1.5", ">1.0 , <=2.0", "(>=1.0)", " ( ==1.0 )") +
				marker
		case 5:
			return name + "==1.0" + pick(" \\\n    ", " ") + "--hash=sha256:" + strings.Repeat("ab", 32)
		case 6:
			return name + ">=1.0" + pick(" # why", "  # torch==1", "# no")
		case 7:
			return name + " \\\n" + pick("==1.0", ">=2 # c", "")
		case 8:
			return name + "==1.0" + pick(" -f https://x.example/", " --find-links https://x.example/", " -i https://x.example/", " -q", " -f", " -x y")
		case 9:
			return pick("==1.0", "foo bar", "[x]", "numpy=1.0", "-q", "--wrong", "numpy>=1.0 --flag", "@x")
		}
		return name + pick("==2.0", "", ">=1.0", "==2.0+cu126") + marker
	}
	var lines []string
	for range 1 + random.IntN(3) {
		lines = append(lines, line())
	}
	return strings.Join(lines, pick("\n", "\n", "\r\n")) + pick("", "\n")
}
