package triage

import "strings"

// conditionReach is how far above an AssertionError its condition stands: Python draws marks between them since 3.11.
const conditionReach = 3

// readCondition makes the condition of an assertion without words its message, where the lines above show it.
//
//	    assert len(data_loaders) == len(workflow)
//	AssertionError
func (r *record) readCondition(above []logLine) {
	if r.slot("class") != "AssertionError" || r.slot("message") != "" {
		return
	}
	for i := len(above) - 1; i >= 0; i-- {
		if text := strings.TrimLeft(above[i].text, " │❱>-0123456789"); strings.HasPrefix(text, "assert ") {
			r.slots["message"] = text
			return
		}
	}
}
