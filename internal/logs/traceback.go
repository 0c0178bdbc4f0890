package logs

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
)

// frame is one call in a traceback, with the source line that Python shows. line is "" if only the surrounding source
// is shown. A notebook cell has only its own lines.
type frame struct{ path, line, function, source string }

// frameLine is a call as Python prints it, and as IPython does:
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
var frameLine = lazyregexp.New(`^ *File (?:"([^"]+)", line (\d+)(?:, in (\S+))?|` +
	`((?:[A-Za-z]:)?[^\s:"][^:"]*):(\d+)(?:, in (?:[\w<>]+\.)*([\w<>]+))?)|` +
	`^(?:│ )?\[?(\S+\.pyx?|<ipython-input-[\w-]+>|<timed \w+>)(?:\]\(https?://\S+\))?(?::(\d+))? in (\w+|<[\w: ]+>|\?)(?:\(| |$)|` +
	`^(?:(?:Cell|Input) In ?\[\d+\], (?:line \d+|in <[\w: ]+>)|(?:[A-Za-z]:)?[^:"]*\.ipynb Cell \d+ line \d)`)

// raisedLine is the line on which a traceback ends. Of what stands before the class, its module is dropped.
//
//	torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
var raisedLine = lazyregexp.New(`^(?:\[[^\]]*\]:? *)?(?:Original error: |Exception: |(?:LoadError: )+|` +
	`UnhandledException: )?(?:(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Exit|Interrupt|Iteration|Timeout|` +
	`Failure|Died|NotFound|Mismatch|Closed))(?:: ?(.*))?$|` +
	`(?:[a-z_]\w*\.)+([A-Z]\w+): (.*)|(?:[A-Za-z_]\w*\.)*([A-Z]\w*Error)\(['"](.*)['"],?\)$)`)

// thrownElsewhere matches the last words of programs in other languages: C++ (what():), Rust, Go, Java, .NET.
var thrownElsewhere = lazyregexp.New(`^ *what\(\): +(?P<message>.+)|thread '[^']*' panicked at '(?P<rust>[^']+)'|` +
	`thread '[^']*'(?: \(\d+\))? panicked at [^']\S*:$|^Fatal error:$|^panic: ` +
	`(?P<go>.+)|` +
	`^(?:Exception in thread "[^"]*"|Caused by:|Unhandled [Ee]xception[.:]) (?:[\w$]+\.)*(?P<class>\w+)(?:: (?P<jav` +
	`a>.*))?`)

// worker matches vLLM's line that passes on a message of one of its processes.
var worker = lazyregexp.New(`^Worker failed with error ['"](.*)['"],? please check`)

// saidTwice returns the part that a text contains twice, or "".
func saidTwice(text string) string {
	if half := text[:len(text)/2]; half+half == text {
		return half
	}
	return ""
}

// exception returns the record for the last line of an exception, in a traceback or quoted without one.
func exception(l logtext.Line) *record {
	text := logtext.TrimLoggerPrefix(l.Text)
	class, said := "", ""
	if m := raisedLine.FindStringSubmatch(text); m != nil {
		class, said = m[1]+m[3]+m[5], m[2]+m[4]+m[6]
	} else if m := thrownElsewhere.FindStringSubmatch(text); m != nil {
		class, said = cmp.Or(m[4], "exception"), m[1]+m[2]+m[3]+m[5]
	} else {
		return nil
	}
	if once := saidTwice(class); once != "" { // of two processes that wrote at once
		class, said = once, cmp.Or(saidTwice(strings.TrimPrefix(said, ": ")), said)
	}
	if m := worker.FindStringSubmatch(said); m != nil {
		said = m[1]
	}
	return &record{kind: "exception", slots: map[string]string{"class": class, "message": strings.TrimSpace(said)},
		line: l.Number, text: l.Text, notice: logtext.IsNotice(l.Text)}
}

// raising is a traceback: its calls, and whether Python says above it that its exception only passes on another one.
type raising struct {
	frames []frame
	wraps  bool
}

// tracebacks returns the tracebacks in lines, by the number of the line on which each ends. If one was pasted without
// its first line, its calls do not show that the program's own code was not involved, because they may be incomplete.
func tracebacks(lines []logtext.Line) map[int]raising {
	calls := map[int]raising{}
	within := map[string]int{} // by process: up to where its last traceback, or what looked like one, was read
	for i, l := range lines {
		from := i
		switch {
		case strings.Contains(l.Text, head):
			from++
		case i < within[l.From] || !headless.MatchString(logtext.TrimLoggerPrefix(l.Text)):
			continue
		case i > 0 && strings.Contains(lines[i-1].Text, "(most recent call"): // a stack that was logged, without an exception
			within[l.From] = i + maxStrange
			continue
		}
		frames, end := traceback(lines[from:], l.From)
		if end < 0 || from == i && slices.ContainsFunc(frames, func(f frame) bool { return f.project() == "" }) {
			within[l.From] = i + maxStrange
			continue
		}
		within[l.From] = from + end
		calls[lines[from+end].Number] = raising{frames, passesOn(lines[:i], l.From)}
	}
	return calls
}

// head is the first line of a traceback. headless matches a call in one, as Python prints it.
const head = "Traceback (most recent call last)"

var headless = lazyregexp.New(`^ *File "[^"]+", line \d+, in \S`)

// ofTracker reports whether an exception comes from the process with which multiprocessing cleans up. It prints its
// failures and continues, usually because another process died.
func (r *record) ofTracker() bool {
	return len(r.frames) > 0 && tracker.MatchString(r.frames[0].path)
}

var tracker = lazyregexp.New(`multiprocessing[/\\]resource_tracker\.py$`)

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

// traceback reads the calls below the first line of a traceback and returns the line on which it ends, or -1. The
// source below a call may look like anything. Lines of other processes in between are skipped.
func traceback(lines []logtext.Line, from string) (frames []frame, end int) {
	strange := 0
	for i := 0; i < len(lines) && strange < maxStrange; i++ {
		text := lines[i].Text
		if lines[i].From != from {
			continue
		}
		m := frameLine.FindStringSubmatch(text)
		if m == nil && strings.Contains(text, "File ") {
			m = frameLine.FindStringSubmatch(logtext.TrimLoggerPrefix(text)) // a logger's time and level stand before it
		}
		if m != nil {
			frames = append(frames, frame{path: m[1] + m[4] + m[7], line: m[2] + m[5] + m[8], function: m[3] + m[6] + m[9]})
			strange = 0
			continue
		}
		if strings.Contains(text, head) {
			return nil, -1
		}
		if raisedLine.MatchString(logtext.TrimLoggerPrefix(text)) {
			return frames, i
		}
		if strange == 0 && len(frames) > 0 {
			frames[len(frames)-1].source = strings.TrimSpace(logtext.TrimLoggerPrefix(text))
		}
		strange++
	}
	return nil, -1
}

// distributionDirectory matches the directory of a distribution in a path, or of a model's own code that was downloaded
// with it.
var distributionDirectory = lazyregexp.New(`(?:(?:site|dist)-packages|[/\\]torch[/\\]hub)[/\\]([^/\\]+)|` +
	`[/\\](transformers_modules)[/\\]`)

// pythonsOwn matches where Python keeps its standard library, and eggName a distribution whose directory contains more.
var (
	pythonsOwn = lazyregexp.New(`lib(?:64)?/python\d|(?i:[\\/]lib[\\/][^\\/]+\.py$|[\\/]lib[\\/](?:asyncio|` +
		`importlib|multiprocessing|concurrent|json|subprocess|unittest)[\\/])|^<frozen`)
	eggName = lazyregexp.New(`^[\w]+`)
)

// owner returns the package that a call belongs to: "python" for the standard library, "" for the program itself.
func (f frame) owner() string {
	if m := distributionDirectory.FindStringSubmatch(f.path); m != nil {
		return eggName.FindString(m[1] + m[2])
	}
	if pythonsOwn.MatchString(f.path) {
		return "python"
	}
	return ""
}

// raisingFrame returns the call that raised the exception, also in Python's standard library: _execute_child starts
// another program.
func (r *record) raisingFrame() frame {
	if len(r.frames) == 0 {
		return frame{}
	}
	return r.frames[len(r.frames)-1]
}
