package redact

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"cudacompat/internal/lazyregexp"
)

// secretAssignment matches a name that ends in a word for secrets, what assigns to it, and the value: quoted, quoted
// within quotation marks, or bare.
var secretAssignment = lazyregexp.New(`(?i)([\w.-]*(?:secret|passw(?:or)?d|passwd|passphrase|passcode|pwd|api[ _-]?key|` +
	`access[ _-]?key(?:[_-]?id)?|secret[ _-]?key|private[ _-]?key|account[ _-]?key|auth[_-]?key|encryption[_-]?key|` +
	`shared[_-]?key|subscription[_-]?key|licen[sc]e[_-]?key|session[_-]?key|credentials?|token|_auth|accesssignature))` +
	`(["'\\]*\s*(?:=|:=|:)\s*)` +
	`(?:(\\*")((?:[^"\n\\]|\\[^"\n])+)|(\\*')((?:[^'\n\\]|\\[^'\n])+)|` +
	`([^\s"',;&<>*=\\](?:[^\s"',;&<>\\]|\\[^\s"'])*))`)

// version matches what a package of such a name has assigned to it: tiktoken = "^0.7".
var version = regexp.MustCompile(`^[\^~!<>=]*v?\d+(?:\.\d+)+[\w.*+!-]*$`)

// variable matches a placeholder for a secret, ${TOKEN}, which is not a secret itself.
var variable = regexp.MustCompile(`^\$(?:\{?\{? ?[\w.]+ ?\}?\}?|\(.*)$|^%\w+%$|^\{\w*\}$`)

// plainWords are values that are no secrets.
var plainWords = []string{"true", "false", "none", "null", "nil", "yes", "no", "required", "missing", "unknown", "str"}

// removeAssigned removes the value that is assigned to a secret's name.
func removeAssigned(found, _, after string) string {
	m := secretAssignment.FindStringSubmatch(found)
	if m == nil {
		return found
	}
	name, between, quote, value := strings.ToLower(m[1]), m[2], m[3]+m[5], m[4]+m[6]+m[7]
	least := 1
	if strings.HasSuffix(name, "token") || strings.HasSuffix(name, "key") || strings.HasSuffix(name, "auth") {
		least = 6
	}
	word := strings.HasSuffix(name, "token") && !strings.HasSuffix(name, "_token") // of a sentence, perhaps
	switch {
	case len(value) < least, slices.Contains(plainWords, strings.ToLower(value)), version.MatchString(value),
		variable.MatchString(value), strings.Contains(value, mark):
		return found
	case strings.ContainsAny(between, `"'`) && quote == "" && strings.HasPrefix(after, " ") && !random(value):
		return found // the name of a file and what is wrong with it: "passwd": cannot be read
	case word && strings.Contains(between, ":") && quote == "" && (len(value) < 16 || !random(value)):
		return found // "Unexpected token: something"
	}
	return m[1] + between + quote + mark
}

// random reports whether a text has letters of both cases, or letters and digits, like a generated token.
func random(text string) bool {
	upper, lower := strings.ContainsFunc(text, unicode.IsUpper), strings.ContainsFunc(text, unicode.IsLower)
	return upper && lower || (upper || lower) && strings.ContainsFunc(text, unicode.IsDigit)
}

// removeWord removes a token, and keeps hf_transfer, which is a package.
func removeWord(found, _, _ string) string {
	start := found[:strings.LastIndexByte(found, '_')+1]
	if !random(found[len(start):]) {
		return found
	}
	return start + mark
}

// removeDrawn removes the last word if a program or a person drew it: Docker's "auth": "dXNlcjpwYXNz", not "auth:
// required".
func removeDrawn(found, _, _ string) string {
	at := strings.LastIndexAny(strings.TrimRight(found, "="), "\t\"'\\:= ") + 1
	if value := found[at:]; !random(value) || variable.MatchString(value) {
		return found
	}
	return found[:at] + mark
}

// removeProse removes credentials, and keeps "basic configuration".
func removeProse(found, _, _ string) string {
	scheme, value, _ := strings.Cut(found, " ")
	if value = strings.TrimLeft(value, " "); !random(value[1:]) {
		return found
	}
	return scheme + " " + mark
}

// port matches the port of a host, after which an @ belongs to the path.
var port = regexp.MustCompile(`^://[^:]+:\d+(?:/|$)`)

func removePort(found, _, _ string) string {
	if port.MatchString(found) {
		return found
	}
	return "://" + mark + "@"
}

// removePrompt removes user and host from a shell prompt, "alice@node17:~$".
func removePrompt(found, before, _ string) string {
	if strings.HasSuffix(before, "//") {
		return found
	}
	return mark + "@" + mark + found[len(found)-2:]
}

// noMail lists endings of names with an @ that are not mail addresses: a symbol's version, a systemd unit.
var noMail = []string{"so", "dll", "dylib", "service", "socket", "target", "mount", "whl", "git", "zip", "gz", "py", "html"}

func removeMail(found, before, _ string) string {
	end := strings.ToLower(found[strings.LastIndexByte(found, '.')+1:])
	if slices.Contains(noMail, end) || strings.HasSuffix(before, "/") || strings.HasPrefix(found, mark) {
		return found
	}
	return mark + "@" + mark
}

func removeSerial(found, _, _ string) string {
	at := strings.LastIndexAny(found, `:=>"' `) + 1
	if slices.Contains(plainWords, strings.ToLower(found[at:])) {
		return found
	}
	return found[:at] + mark
}

// near are the words of a host that says nothing of a machine.
var near = []string{"localhost", "127.0.0.1", "0.0.0.0", "driver", "compiler", "memory", "null", "none", "name"}

// removeHost removes a host name that follows a key: "host: x", "HOST=x" or "--host x". If only a blank separates the
// two, the key must look like a variable or an option, so that prose stays.
func removeHost(found, before, _ string) string {
	at := strings.LastIndexAny(found, `:= "'`) + 1
	name := strings.TrimRight(found[:at], ` "'`)
	told := strings.HasSuffix(name, ":") || strings.HasSuffix(name, "=") || strings.ContainsAny(name, "_-") ||
		strings.HasSuffix(before, "--")
	if !told || slices.Contains(near, strings.ToLower(found[at:])) {
		return found
	}
	return found[:at] + mark
}

// peer matches a host between what says that it is one and its port.
var peer = regexp.MustCompile(`^(.*[( "'])([\w.-]+)(["']?\s*[,:<]\s*\d+>?)$`)

// stripPeer takes the name of the host that a program is connected to, and leaves the port.
func stripPeer(found, _, _ string) string {
	m := peer.FindStringSubmatch(found)
	if m == nil || slices.Contains(near, strings.ToLower(m[2])) {
		return found
	}
	return m[1] + mark + m[3]
}

var (
	// addressWithPort matches what only an address has behind it: its port, as NCCL or others write it, or its mask.
	addressWithPort = regexp.MustCompile(`^(?:[:<|]\d+|/\d{1,2}\b[^.])`)
	// networkLine matches lines that speak of the network.
	networkLine = regexp.MustCompile(`(?i)NCCL (?:INFO|WARN)|NCCL_|connect|socket|gloo|c10d|rendezvous|master_addr|\bssh\b|` +
		`\bhost|bootstrap|listen|\bpeer\b|remote|\baddr|\bip\b|endpoint|unreachable|\binet\b|://`)
)

// removeAddress removes an address of IPv4, which a version of four parts looks like: 10.3.5.119 is cuRAND's.
func removeAddress(found, before, after string) string {
	if found == "127.0.0.1" || found == "0.0.0.0" || before != "" && !strings.ContainsRune(" \t[(:/@<=,\"'|>", rune(before[len(before)-1])) ||
		strings.HasSuffix(before, "==") || strings.HasPrefix(after, ".") || strings.HasPrefix(after, "-") {
		return found
	}
	line := before[strings.LastIndexByte(before, '\n')+1:]
	if addressWithPort.MatchString(after) || networkLine.MatchString(line) || networkLine.MatchString(after) {
		return mark
	}
	return found
}
