package paste

import (
	"slices"
	"testing"

	"cudacompat/probe/internal/input/document"
)

// TestPrinted reads what lines of Python printed, and leaves out what they may have printed.
func TestPrinted(t *testing.T) {
	for _, test := range []struct {
		name, text, torch string
		available         string // "True", "False"; empty: nothing tells
	}{
		{"one line", "$ python -c 'import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())'\n2.9.1+cu130 13.0 True\n", "2.9.1+cu130", "True"},
		{"two calls", "python3 -c \"import torch; print(torch.__version__); print(torch.cuda.is_available())\"\n2.6.0+cu124\nFalse\n", "2.6.0+cu124", "False"},
		{"a prompt", ">>> import torch\n>>> torch.__version__\n'2.5.1+cu121'\n>>> torch.cuda.is_available()\nTrue\n", "2.5.1+cu121", "True"},
		{"words", "print('torch', torch.__version__)\ntorch 2.8.0+cu128\n", "2.8.0+cu128", ""},
		{"a formatted string", "print(f\"torch {torch.__version__} cuda={torch.cuda.is_available()}\")\ntorch 2.8.0+cu128 cuda=True\n", "2.8.0+cu128", "True"},
		{"warnings between", "print(torch.__version__)\nUserWarning: something\n2.8.0+cu128\n", "2.8.0+cu128", ""},
		{"nothing printed", "print(torch.__version__)\n$ ls\nREADME.md\n", "", ""},
		{"two answers", "print(torch.__version__)\n2.8.0+cu128\nprint(torch.__version__)\n2.7.0+cu128\n", "", ""},
		{"a sentence", "torch version: 2.9.1+cu130\n", "2.9.1+cu130", ""},
		{"two sentences", "PyTorch 2.9.1+cu130 fails and PyTorch 2.8.0+cu128 works\n", "", ""},
		{"what it returns", "`torch.cuda.is_available()` returns `False`\n", "", "False"},
		{"a command", "$ pip install torch==2.5.1 --index-url https://download.pytorch.org/whl/cu121\n", "2.5.1+cu121", ""},
		{"two commands", "pip install torch==2.5.1\npip install torch==2.7.0\n", "", ""},
	} {
		f, err := Read(document.Document{Data: []byte(test.text)})
		if err != nil {
			t.Fatal(err)
		}
		torch, available := "", ""
		for _, e := range f.Environments {
			for _, b := range e.Builds {
				torch = b.Version
			}
		}
		if seen := f.Observed.CUDAAvailable; seen != nil {
			available = map[bool]string{true: "True", false: "False"}[*seen]
		}
		if torch != test.torch || available != test.available {
			t.Errorf("%s: torch %q available %q, want %q and %q", test.name, torch, available, test.torch, test.available)
		}
	}
}

// TestStripMarkdown takes the marks from prose, and none from code.
func TestStripMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"- `torch==2.5.1`\n":                         "torch==2.5.1\n",
		"* **Driver:** 550.54.14\n":                  "Driver: 550.54.14\n",
		"| PyTorch | `2.9.1+cu130` |\n":              "PyTorch: 2.9.1+cu130\n",
		"| a | b | c |\n":                            "| a | b | c |\n",
		"|   0  NVIDIA H20    Off |   0000:01 Off |": "|   0  NVIDIA H20    Off |   0000:01 Off |",
		"```\n- `torch==2.5.1`\n```\n":               "```\n- `torch==2.5.1`\n```\n",
		"# torch==2.0\ntorch==2.1\n":                 "# torch==2.0\ntorch==2.1\n",
		"# RuntimeError: CUDA error\n":               "RuntimeError: CUDA error\n",
		"  [pip3] torch==2.5.1\n-rbase.txt\n--pre\n": "  [pip3] torch==2.5.1\n-rbase.txt\n--pre\n",
	} {
		if got := string(StripMarkdown([]byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestPrintedBound bounds what one line of Python may ask.
func TestPrintedBound(t *testing.T) {
	arguments := slices.Repeat([]string{"torch.__version__"}, maxArguments+1)
	if a := answerOf(arguments); a.pattern != nil {
		t.Errorf("%d arguments have a pattern", len(arguments))
	}
}
