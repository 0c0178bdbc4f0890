// Package traceback reads Python tracebacks in logs and says whose code each call is.
//
// [ReadAll] finds the tracebacks of all processes of a log. A [Frame] is one call: [Frame.Owner] names the installed
// distribution that it belongs to, and [Frame.Project] also recognises checkouts of known projects and generated code.
// Python, IPython, Rich and notebooks print calls in different forms; [FrameLine] matches all of them, and [RaisedLine]
// the line that ends a traceback.
package traceback

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
)

// Frame is one call in a traceback, with the source line that Python shows. Line is "" if only the surrounding source
// is shown: a notebook cell has only its own lines.
type Frame struct{ Path, Line, Function, source string }

// FrameLine is a call as Python prints it, and as IPython does:
//
//	File "/opt/venv/lib/python3.11/site-packages/torch/cuda/__init__.py", line 310, in _lazy_init
//	File ~/venv/lib/python3.10/site-packages/accelerate/launchers.py:87, in notebook_launcher(function, args)
//	/opt/conda/lib/python3.7/site-packages/torch/nn/modules/module.py in _call_impl(self, *input)
//	│ /usr/src/server/text_generation_server/utils/weights.py:275 in get_sharded   │
//	[/usr/local/lib/python3.10/dist-packages/diffusers/utils.py](https://localhost:8080/#) in load(name)
//
// A cell of a notebook has no file:
//
//	Cell In[7], line 1
//	Input In [181], in <cell line: 6>()
//	c:\project\run.ipynb Cell 10 line 4
var FrameLine = lazyregexp.New(`^ *File (?:"([^"]+)", line (\d+)(?:, in (\S+))?|` +
	`((?:[A-Za-z]:)?[^\s:"][^:"]*):(\d+)(?:, in (?:[\w<>]+\.)*([\w<>]+))?)|` +
	`^(?:│ )?\[?(\S+\.pyx?|<ipython-input-[\w-]+>|<timed \w+>)(?:\]\(https?://\S+\))?(?::(\d+))? in (\w+|<[\w: ]+>|\?)(?:\(| |$)|` +
	`^(?:(?:Cell|Input) In ?\[\d+\], (?:line \d+|in <[\w: ]+>)|(?:[A-Za-z]:)?[^:"]*\.ipynb Cell \d+ line \d)`)

// RaisedLine is the line on which a traceback ends. Of what stands before the class, its module is dropped.
//
//	torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
var RaisedLine = lazyregexp.New(`^(?:\[[^\]]*\]:? *)?(?:Original error: |Exception: |(?:LoadError: )+|` +
	`UnhandledException: )?(?:(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Exit|Interrupt|Iteration|Timeout|` +
	`Failure|Died|NotFound|Mismatch|Closed))(?:: ?(.*))?$|` +
	`(?:[a-z_]\w*\.)+([A-Z]\w+): (.*)|(?:[A-Za-z_]\w*\.)*([A-Z]\w*Error)\(['"](.*)['"],?\)$)`)

// Traceback is a traceback: its calls, and whether Python says above it that its exception only passes on another one.
type Traceback struct {
	Frames []Frame
	Wraps  bool
}

// ReadAll returns the tracebacks in lines, by the number of the line on which each ends. If one was pasted without
// its first line, its calls do not show that the program's own code was not involved, because they may be incomplete.
func ReadAll(lines []logtext.Line) map[int]Traceback {
	calls := map[int]Traceback{}
	within := map[string]int{} // by process: up to where its last traceback, or what looked like one, was read
	for i, l := range lines {
		from := i
		switch {
		case strings.Contains(l.Text, Header):
			from++
		case i < within[l.From] || !headless.MatchString(logtext.TrimLoggerPrefix(l.Text)):
			continue
		case i > 0 && strings.Contains(lines[i-1].Text, "(most recent call"): // a stack that was logged, without an exception
			within[l.From] = i + maxStrange
			continue
		}
		frames, end := Read(lines[from:], l.From)
		if end < 0 || from == i && slices.ContainsFunc(frames, func(f Frame) bool { return f.Project() == "" }) {
			within[l.From] = i + maxStrange
			continue
		}
		within[l.From] = from + end
		calls[lines[from+end].Number] = Traceback{frames, passesOn(lines[:i], l.From)}
	}
	return calls
}

// Header is the first line of a traceback.
const Header = "Traceback (most recent call last)"

var headless = lazyregexp.New(`^ *File "[^"]+", line \d+, in \S`)

// passesOn reports whether the lines above a traceback, from the same process, say that its exception passes on another
// one.
func passesOn(above []logtext.Line, from string) bool {
	for i := len(above) - 1; i >= 0 && len(above)-i <= maxStrange; i-- {
		if l := above[i]; l.From == from && strings.TrimSpace(logtext.TrimLoggerPrefix(l.Text)) != "" {
			return strings.Contains(l.Text, "was the direct cause of the following exception")
		}
	}
	return false
}

// maxStrange is how many lines may be between two calls: IPython and Rich show the source around each.
const maxStrange = 24

// Read reads the calls below the first line of a traceback and returns the line on which it ends, or -1. The
// source below a call may look like anything. Lines of other processes in between are skipped.
func Read(lines []logtext.Line, from string) (frames []Frame, end int) {
	strange := 0
	for i := 0; i < len(lines) && strange < maxStrange; i++ {
		text := lines[i].Text
		if lines[i].From != from {
			continue
		}
		m := FrameLine.FindStringSubmatch(text)
		if m == nil && strings.Contains(text, "File ") {
			m = FrameLine.FindStringSubmatch(logtext.TrimLoggerPrefix(text)) // a logger's time and level stand before it
		}
		if m != nil {
			frames = append(frames, Frame{Path: m[1] + m[4] + m[7], Line: m[2] + m[5] + m[8], Function: m[3] + m[6] + m[9]})
			strange = 0
			continue
		}
		if strings.Contains(text, Header) {
			return nil, -1
		}
		if RaisedLine.MatchString(logtext.TrimLoggerPrefix(text)) {
			return frames, i
		}
		if strange == 0 && len(frames) > 0 {
			frames[len(frames)-1].source = strings.TrimSpace(logtext.TrimLoggerPrefix(text))
		}
		strange++
	}
	return nil, -1
}

// DistributionDirectory matches the directory of a distribution in a path, or of a model's own code that was downloaded
// with it.
var DistributionDirectory = lazyregexp.New(`(?:(?:site|dist)-packages|[/\\]torch[/\\]hub)[/\\]([^/\\]+)|` +
	`[/\\](transformers_modules)[/\\]`)

var (
	// StandardLibrary matches where Python keeps its standard library.
	StandardLibrary = lazyregexp.New(`lib(?:64)?/python\d|(?i:[\\/]lib[\\/][^\\/]+\.py$|[\\/]lib[\\/](?:asyncio|` +
		`importlib|multiprocessing|concurrent|json|subprocess|unittest)[\\/])|^<frozen`)
	// DistributionName matches the name of a distribution at the start of its directory's name, which contains more.
	DistributionName = lazyregexp.New(`^[\w]+`)
)

// Owner returns the package that a call belongs to: "python" for the standard library, "" for the program itself.
func (f Frame) Owner() string {
	if m := DistributionDirectory.FindStringSubmatch(f.Path); m != nil {
		return DistributionName.FindString(m[1] + m[2])
	}
	if StandardLibrary.MatchString(f.Path) {
		return "python"
	}
	return ""
}
