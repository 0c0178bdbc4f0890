package logs

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/traceback"
)

// detailed adds to the answer about an exception what its calls and its source line show: where to look, which package
// called which, whether a file was read or written. It never changes the blame.
func (r *record) detailed(answer string) string {
	r.slots["place"] = r.whereToLook()
	switch class := r.slot("class"); {
	case answer == "given-file" && writes.MatchString(r.slot("source")) && strings.HasPrefix(class, "FileNotFound"):
		return "no-directory"
	case answer == "usage" && class == "AttributeError":
		return r.undeclaredOption()
	case answer == "network-down" && r.downloads():
		return "download"
	case answer == "packages-do-not-fit":
		return r.misfit(class)
	case answer == "program" || answer == "input":
		return r.withPlace(answer)
	}
	return answer
}

// downloads reports whether an exception was raised while a file was downloaded.
func (r *record) downloads() bool {
	return slices.ContainsFunc(r.frames, func(f traceback.Frame) bool { return fetches.MatchString(f.Function) })
}

// fetches matches functions that download files: Python's library, PyTorch's and the Hugging Face hub's.
var fetches = lazyregexp.New(`(?i)download|^do_open$|^urlopen$|^urlretrieve$|cached_file|from_pretrained|load_state_dict_from_url`)

// whereToLook returns the last call of the program's own code, or the line that Python cannot parse.
func (r *record) whereToLook() string {
	if at := r.slot("place"); at != "" {
		return at[strings.LastIndexAny(at, `/\`)+1:]
	}
	return r.place()
}

// advice lists what to do about an exception in the program's own code, by the start of its class or a word of its
// message.
var advice = []struct {
	marks []string
	words string
}{
	{[]string{"ConfigurationError: ", "ConfigError: ", "ConfigurationException: "}, "change the configuration as the message says"},
	{[]string{"NameError: "}, "define the name before it, or correct its spelling"},
	{[]string{"UnboundLocalError"}, "define the name before it on every path"},
	{[]string{"KeyError"}, "print what is looked up there, and the keys of what is searched"},
	{[]string{"IndexError"}, "print what is looked up there, and the length of what is searched"},
	{[]string{"IndentationError", "TabError"}, "indent the block with spaces only"},
	{[]string{"SyntaxError"}, "close the bracket or quote, or complete the statement, there or just before it"},
	{[]string{"ZeroDivisionError"}, "find out why the divisor is 0: an empty dataset, list or batch, mostly"},
	{[]string{"NoneType"}, "print the value that is None there, and find out what should have set it"},
	{[]string{"has no attribute", "is not callable", "is not iterable", "is not subscriptable"},
		"print the type of the object there"},
	{[]string{"values to unpack"}, "count the values on both sides of the = sign"},
	{[]string{"positional argument", "keyword-only argument", "unexpected keyword"},
		"compare the call with the definition of the function"},
	{[]string{"must be specified", "has to be specified", "must be set", "must specify", "must provide", "is required",
		"not set"}, "give what the message asks for"},
}

// withPlace names the place of a mistake in the program's own code, and what to do there. An error while unpacking a
// tensor's shape concerns its dimensions.
func (r *record) withPlace(answer string) string {
	sentence := r.slot("sentence")
	if strings.Contains(sentence, "values to unpack") && takesShape.MatchString(r.slot("source")) {
		return "shape"
	}
	_, own := r.ownPlace()
	if answer == "input" && own {
		answer = "program"
	}
	if r.slot("class") == "KeyError" {
		answer = "program" // what was looked up is no value that somebody gave
	}
	if at, found := r.ofIssues(); found {
		switch {
		case own:
			answer += "-called"
		case at.Owner() == "" && answer == "program":
			answer = "program-cloned"
		default:
			answer += "-theirs"
		}
	}
	r.slots["advice"] = "print what is passed there, and compare it with what the message says"
	if aboutTensor.MatchString(sentence) {
		r.slots["advice"] = "print shapes, types and devices of what is passed there"
	}
	for _, a := range advice {
		if logtext.ContainsAny(sentence, a.marks) {
			r.slots["advice"] = a.words
			break
		}
	}
	return answer
}

var (
	lacksOption = lazyregexp.New(`has no attribute '(\w+)'`)
	lacksName   = lazyregexp.New(`^cannot import name '?(\w+)'? from (?:partially initialized module )?'([\w.]+)'|` +
		`^module '([\w.]+)' has no attribute '(\w+)'`)
	lacksArgument = lazyregexp.New(wrongCall)
)

// misfitIn returns an answer about packages that do not fit, with words to search a package's issues for, if one of its
// calls raised the exception.
func (r *record) misfitIn(answer string) string {
	if _, found := r.ofIssues(); found {
		return answer + "-in"
	}
	return answer
}

// ofIssues fills the slots with the words to search for in the issues of the project whose call raised an exception.
func (r *record) ofIssues() (at traceback.Frame, found bool) {
	at, project, found := r.theirs()
	if found {
		r.fillIssues(at, project)
	}
	return at, found
}

// undeclaredOption names the option that a program reads from its arguments but does not declare.
func (r *record) undeclaredOption() string {
	m := lacksOption.FindStringSubmatch(r.slot("message"))
	if m == nil {
		return "usage"
	}
	r.slots["option"] = m[1]
	return "option-undeclared"
}

// misfit names the calling and the called package, if an exception shows both.
func (r *record) misfit(class string) string {
	asker, text := r.deepest(), r.slot("message")
	if _, project, found := r.theirs(); found && asker == "" {
		asker = project
	}
	if class == "TypeError" && asker != "" && lacksArgument.MatchString(text) {
		r.slots["asker"] = asker
		return "misfit-call"
	}
	m := lacksName.FindStringSubmatch(text)
	if m == nil {
		return r.misfitIn("packages-do-not-fit")
	}
	asked, _, _ := strings.Cut(cmp.Or(m[2], m[3]), ".")
	r.slots["name"], r.slots["asked"], r.slots["asker"] = m[1]+m[4], asked, asker
	switch asker {
	case asked:
		if r.isCloned() {
			return "misfit-clone"
		}
		return "misfit-itself"
	case "":
		return "name-gone"
	}
	return "misfit"
}
