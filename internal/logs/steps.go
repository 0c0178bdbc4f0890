package logs

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/matrix/pin"
)

// plainSlot matches text that needs no quotation marks in a command.
var plainSlot = lazyregexp.New(`^[\w./+@:=,][\w./+@:=,-]*$`)

// step inserts text from log lines into a step. Within backquotes the text becomes one word of a command, and in a
// sentence only words. It returns "" if the text cannot be a word there.
func step(words string, slot func(name string) string) (text string, ok bool) {
	var out strings.Builder
	for {
		at := placeholder.FindStringSubmatchIndex(words)
		if at == nil {
			out.WriteString(words)
			return out.String(), true
		}
		before, name, after := words[:at[0]], words[at[2]:at[3]], words[at[1]:]
		value := strings.ReplaceAll(slot(name), "`", "'") // which would begin a command of its own
		inCommand := strings.Count(out.String()+before, "`")%2 == 1
		switch {
		case plainSlot.MatchString(value), value == "":
		case !inCommand:
			value = pin.Quoted(value)
		case strings.HasPrefix(value, "-"):
			return "", false
		default:
			mark := before[max(0, len(before)-1):]
			quoted := mark != "" && strings.Contains(`'"`, mark) && strings.HasPrefix(after, mark)
			if !quoted && strings.ContainsAny(before[strings.LastIndexByte(before, '`')+1:], `'"`) {
				return "", false // a part of what is quoted there
			}
			if quoted {
				before, after = strings.TrimSuffix(before, mark), strings.TrimPrefix(after, mark)
			}
			value = pin.Word(value)
		}
		out.WriteString(before + value)
		words = after
	}
}

// steps returns the steps of an answer with the record's slots.
func (r *record) steps(list []string) (do []string) {
	for _, words := range list {
		if text, ok := step(words, func(name string) string { return r.slotIn(words, name) }); ok {
			do = append(do, text)
		}
	}
	return do
}

// A command at the beginning of a step, what stands in one for a word of the reader's own, and what begins another way.
var (
	runs        = lazyregexp.New("^run `([^`]+)`(?:: (.*)|, (?:and|then) (.*))?$")
	readersWord = lazyregexp.New(`(?:^|[\s=/:'"])(?:[A-Z][A-Z_-]+|N)(?:$|[\s/:.'"])|…`)
)

// stepsIn converts texts to steps, with each command that can run as it is separated from its explanation.
func stepsIn(do []string) []pin.Step {
	steps := []pin.Step{}
	for _, text := range do {
		words, or := strings.CutPrefix(text, "or ")
		step := pin.Say(words)
		if m := runs.FindStringSubmatch(words); m != nil && !readersWord.MatchString(m[1]) {
			step = pin.Run(m[1]).Explained(m[2] + m[3])
		}
		if or {
			step = step.Instead()
		}
		steps = append(steps, step)
	}
	return steps
}

// steps returns a signature's steps with the text of its pattern's groups.
func (e *event) steps() (do []string) {
	for _, words := range e.signature.Do {
		if text, ok := step(words, func(name string) string { return e.slot(name, logtext.MaxShown) }); ok {
			do = append(do, text)
		}
	}
	return do
}
