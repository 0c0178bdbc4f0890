package logs

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/pin"
)

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
