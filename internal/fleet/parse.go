package fleet

import (
	"fmt"
	"strings"

	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/probe"
)

// ParseWhatIf parses the text of a change. It rejects releases that the tables do not have, because nothing can be said
// about them.
func ParseWhatIf(t *matrix.Tables, text string) (WhatIf, error) {
	w := WhatIf{Text: text}
	if driver, ok := strings.CutPrefix(text, "driver="); ok {
		w.Driver = driver
	} else if facts, err := probe.Given([]byte(text + "\n")); err == nil && strings.Contains(text, "==") {
		for _, e := range facts.Environments {
			w.Builds = append(w.Builds, e.Builds...)
		}
	}
	if err := w.Check(); err != nil {
		return w, &usage.Error{Message: "--what-if " + text + ": " + err.Error()}
	}
	if w.Driver == "" && len(w.Builds) == 0 {
		known := usage.JoinWords(matrix.Frameworks())
		return w, &usage.Error{Message: fmt.Sprintf("--what-if %s is neither a driver nor a release of %s", text, known),
			Hint: "--what-if driver=595.71.05, or --what-if torch==2.14.1+cu130"}
	}
	for _, b := range w.Builds {
		if known, newest := matrix.KnowsRelease(t, b.Name, b.Version); !known && newest != "" {
			return w, &usage.Error{Message: fmt.Sprintf("--what-if %s: the tables do not have this release; the newest %s is %s", text, b.Name, newest),
				Hint: "cudacompat matrix " + b.Name + " lists the releases"}
		}
	}
	return w, nil
}
