package pin

import "slices"

// Step is one thing to do.
type Step struct {
	// Say is what to do or, with Run, what that command does.
	Say string `json:"say"`
	// Run is a shell command for the system that was read, ready to paste. It is "" if there is none.
	Run string `json:"run"`
	// Or marks the first step of another way to reach the same result.
	Or bool `json:"or"`
}

// Say returns a step that is a sentence for a person.
func Say(text string) Step { return Step{Say: text} }

// Run returns a step that is a command.
func Run(command string) Step { return Step{Run: command} }

// Explained returns the step with a comment on what its command does.
func (s Step) Explained(text string) Step {
	s.Say = text
	return s
}

// Instead returns the step as the first of an alternative way.
func (s Step) Instead() Step {
	s.Or = true
	return s
}

// String formats the step as one text. The explanation of a command follows as a shell comment.
func (s Step) String() string {
	switch {
	case s.Run == "" && s.Or:
		return "or " + s.Say
	case s.Run == "" || s.Say == "":
		return s.Say + s.Run
	}
	return s.Run + "  # " + s.Say
}

// Texts formats each step as text.
func Texts(steps []Step) []string {
	texts := make([]string, len(steps))
	for i, s := range steps {
		texts[i] = s.String()
	}
	return texts
}

// Ways splits steps into alternative ways, in their order. A step with Or starts the next one.
func Ways(steps []Step) [][]Step {
	var ways [][]Step
	for len(steps) > 0 {
		end := 1 + slices.IndexFunc(append(slices.Clone(steps[1:]), Step{Or: true}), func(s Step) bool { return s.Or })
		ways, steps = append(ways, steps[:end]), steps[end:]
	}
	return ways
}
