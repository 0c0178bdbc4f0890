package signature

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/pin"
)

// plainSlot matches text that needs no quotation marks in a command.
var plainSlot = lazyregexp.New(`^[\w./+@:=,][\w./+@:=,-]*$`)

// FillStep inserts text from log lines into a step. Within backquotes the text becomes one word of a command, and in a
// sentence only words. It returns "" if the text cannot be a word there.
func FillStep(words string, slot func(name string) string) (text string, ok bool) {
	var out strings.Builder
	for {
		at := Placeholder.FindStringSubmatchIndex(words)
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
