package record

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/traceback"
)

// FindProject returns the project of a call in a traceback, or "" for the program itself. A project that is recognised
// only by its path's layout counts as the program itself if the program was started from it.
func (r *Record) FindProject(f traceback.Frame) string {
	if p := f.Project(); p != "" {
		return p
	}
	name := f.Layout()
	for _, outer := range r.Frames {
		if outer.Project() == "" {
			if outer.Layout() == name {
				return ""
			}
			break
		}
	}
	return name
}

// DescribePlace returns the last call of the program's own code in a traceback, in the form that steps use.
func (r *Record) DescribePlace() string {
	const last = "the last line of your own code in the traceback"
	if at, found := r.FindOwnPlace(); found {
		return at + ", " + last
	}
	return last
}

// FindOwnPlace returns the file and line of the last call of the program's own code, if there is one.
func (r *Record) FindOwnPlace() (at string, found bool) {
	for i := len(r.Frames) - 1; i >= 0; i-- {
		if f := r.Frames[i]; f.Line != "" && r.FindProject(f) == "" {
			return f.File() + ", line " + f.Line, true
		}
	}
	return "", false
}

// carry matches packages through which programs communicate. Their exceptions, such as a timeout or a closed
// connection, are seldom their own fault.
var carry = lazyregexp.New(`^(?:aiohttp|httpx|httpcore|requests|urllib3|uvicorn|starlette|fastapi|anyio|uvloop|websockets|grpc|zmq)$`)

// FindProjectCall returns the deepest call in a traceback that belongs to a project, and the project. It returns false
// if a call of the program's own code is below all of them. A package that carries messages is skipped for its caller.
func (r *Record) FindProjectCall() (at traceback.Frame, project string, found bool) {
	for i := len(r.Frames) - 1; i >= 0; i-- {
		f := r.Frames[i]
		switch p := r.FindProject(f); {
		case p == "":
			return at, project, found
		case p != "python" && !f.OnlyForwards():
			if !carry.MatchString(p) {
				return f, p, true
			}
			if !found {
				at, project, found = f, p, true
			}
		}
	}
	return at, project, found
}

// IsRaisedByOwnCode reports whether a traceback ends in the program's own code, which the user can change.
func (r Record) IsRaisedByOwnCode() bool {
	if r.Kind != "exception" || r.Notice || r.Earlier || r.Frames == nil {
		return false
	}
	_, _, found := r.FindProjectCall()
	return !found
}

// FindDeepestPackage returns the package of the last call outside Python's standard library.
func (r *Record) FindDeepestPackage() string {
	for i := len(r.Frames) - 1; i >= 0; i-- {
		if r.Frames[i].OnlyForwards() {
			continue // the one above asked for what is not there, or called with these arguments
		}
		if owner := r.Frames[i].Owner(); owner != "python" {
			return owner
		}
	}
	return ""
}

// ofRelease matches the ways in which a log gives a release: "vllm==0.10.0", "vLLM API server version 0.9.0.1", a line
// of a package list.
var ofRelease = lazyregexp.New(`(?:^|[^\w.-])([A-Za-z][\w-]*?)(?:[_-]python)?(?:(?:==|:? +v?|-)|\b[\w ]{0,16} version[: ]+v?)(\d+\.\d+[\w.+]*)`)

// MaxProjects limits for how many projects a log is searched for a release.
const MaxProjects = 8

// FindRelease returns the release of a project in a log, or "" if the log gives none or two.
func FindRelease(lines []logtext.Line, project string) string {
	release := ""
	for _, l := range lines {
		if !strings.Contains(strings.ToLower(l.Text), strings.ToLower(project)) {
			continue
		}
		for _, m := range ofRelease.FindAllStringSubmatch(l.Text, -1) {
			if !strings.EqualFold(m[1], project) {
				continue
			}
			said := strings.TrimRight(m[2], ".")
			if release != "" && release != said {
				return ""
			}
			release = said
		}
	}
	return release
}

// IsFromClone reports whether the deepest call in a traceback belongs to a clone of somebody else's project.
func (r *Record) IsFromClone() bool {
	at, project, found := r.FindProjectCall()
	return found && project != "" && at.Owner() == ""
}
