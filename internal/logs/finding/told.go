package finding

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/traceback"
)

// Patterns for a source line that writes a file, and one that unpacks a tensor's shape.
var (
	writes = lazyregexp.New(`open\(.*,\s*(?:mode=)?['"][wax]b?\+?['"]|\.(?:save|savefig|imwrite|to_\w+|dump|mkdir|write\w*)\(|` +
		`FileHandler\(|VideoWriter\(`)
	takesShape = lazyregexp.New(`\.(?:shape\b|size\(\))`)
)

// addDetails adds to the answer about an exception what its calls and its source line show: where to look, which
// package called which, whether a file was read or written. It never changes the blame.
func addDetails(r *record.Record, answer string) string {
	r.Slots["place"] = findPlaceToLook(r)
	switch class := r.Slot("class"); {
	case answer == "given-file" && writes.MatchString(r.Slot("source")) && strings.HasPrefix(class, "FileNotFound"):
		return "no-directory"
	case answer == "usage" && class == "AttributeError":
		return nameOption(r)
	case answer == "network-down" && isDownload(r):
		return "download"
	case answer == "packages-do-not-fit":
		return judgeMisfit(r, class)
	case answer == "program" || answer == "input":
		return addPlace(r, answer)
	}
	return answer
}

// isDownload reports whether an exception was raised while a file was downloaded.
func isDownload(r *record.Record) bool {
	return slices.ContainsFunc(r.Frames, func(f traceback.Frame) bool { return fetches.MatchString(f.Function) })
}

// fetches matches functions that download files: Python's library, PyTorch's and the Hugging Face hub's.
var fetches = lazyregexp.New(`(?i)download|^do_open$|^urlopen$|^urlretrieve$|cached_file|from_pretrained|load_state_dict_from_url`)

// findPlaceToLook returns the last call of the program's own code, or the line that Python cannot parse.
func findPlaceToLook(r *record.Record) string {
	if at := r.Slot("place"); at != "" {
		return at[strings.LastIndexAny(at, `/\`)+1:]
	}
	return r.DescribePlace()
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

// addPlace names the place of a mistake in the program's own code, and what to do there. An error while unpacking a
// tensor's shape concerns its dimensions.
func addPlace(r *record.Record, answer string) string {
	sentence := r.Slot("sentence")
	if strings.Contains(sentence, "values to unpack") && takesShape.MatchString(r.Slot("source")) {
		return "shape"
	}
	_, own := r.FindOwnPlace()
	if answer == "input" && own {
		answer = "program"
	}
	if r.Slot("class") == "KeyError" {
		answer = "program" // what was looked up is no value that somebody gave
	}
	if at, found := fillIssueWords(r); found {
		switch {
		case own:
			answer += "-called"
		case at.Owner() == "" && answer == "program":
			answer = "program-cloned"
		default:
			answer += "-theirs"
		}
	}
	r.Slots["advice"] = "print what is passed there, and compare it with what the message says"
	if aboutTensor.MatchString(sentence) {
		r.Slots["advice"] = "print shapes, types and devices of what is passed there"
	}
	for _, a := range advice {
		if logtext.ContainsAny(sentence, a.marks) {
			r.Slots["advice"] = a.words
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

// nameMisfit returns an answer about packages that do not fit, with words to search a package's issues for, if one of
// its calls raised the exception.
func nameMisfit(r *record.Record, answer string) string {
	if _, found := fillIssueWords(r); found {
		return answer + "-in"
	}
	return answer
}

// fillIssueWords fills the slots with the words to search for in the issues of the project whose call raised an
// exception.
func fillIssueWords(r *record.Record) (at traceback.Frame, found bool) {
	at, project, found := r.FindProjectCall()
	if found {
		FillIssues(r, at, project)
	}
	return at, found
}

// nameOption names the option that a program reads from its arguments but does not declare.
func nameOption(r *record.Record) string {
	m := lacksOption.FindStringSubmatch(r.Slot("message"))
	if m == nil {
		return "usage"
	}
	r.Slots["option"] = m[1]
	return "option-undeclared"
}

// judgeMisfit names the calling and the called package, if an exception shows both.
func judgeMisfit(r *record.Record, class string) string {
	asker, text := r.FindDeepestPackage(), r.Slot("message")
	if _, project, found := r.FindProjectCall(); found && asker == "" {
		asker = project
	}
	if class == "TypeError" && asker != "" && lacksArgument.MatchString(text) {
		r.Slots["asker"] = asker
		return "misfit-call"
	}
	m := lacksName.FindStringSubmatch(text)
	if m == nil {
		return nameMisfit(r, "packages-do-not-fit")
	}
	asked, _, _ := strings.Cut(cmp.Or(m[2], m[3]), ".")
	r.Slots["name"], r.Slots["asked"], r.Slots["asker"] = m[1]+m[4], asked, asker
	switch asker {
	case asked:
		if r.IsFromClone() {
			return "misfit-clone"
		}
		return "misfit-itself"
	case "":
		return "name-gone"
	}
	return "misfit"
}
