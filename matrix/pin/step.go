package pin

import "slices"

// Step is one thing to do.
type Step struct {
	// Say is what is to be done or, beside Run, what that command does.
	Say string `json:"say"`
	// Run is shell for the system that was read, which can be pasted as it stands; empty for what cannot be.
	Run string `json:"run"`
	// Or marks the first step of another way to the same end.
	Or bool `json:"or"`
}

// Say is a step that is no command.
func Say(text string) Step { return Step{Say: text} }

// Run is a command.
func Run(command string) Step { return Step{Run: command} }

// That says what the command does.
func (s Step) That(text string) Step {
	s.Say = text
	return s
}

// Instead makes a step the first of another way.
func (s Step) Instead() Step {
	s.Or = true
	return s
}

// String is the step as one text. What a command does follows it as the shell's comment.
func (s Step) String() string {
	switch {
	case s.Run == "" && s.Or:
		return "or " + s.Say
	case s.Run == "" || s.Say == "":
		return s.Say + s.Run
	}
	return s.Run + "  # " + s.Say
}

// Texts are steps as texts.
func Texts(steps []Step) []string {
	texts := make([]string, len(steps))
	for i, s := range steps {
		texts[i] = s.String()
	}
	return texts
}

// Ways are the steps of each way, in their order: the first way is the one before the first Or.
func Ways(steps []Step) [][]Step {
	var ways [][]Step
	for len(steps) > 0 {
		end := 1 + slices.IndexFunc(append(slices.Clone(steps[1:]), Step{Or: true}), func(s Step) bool { return s.Or })
		ways, steps = append(ways, steps[:end]), steps[end:]
	}
	return ways
}
