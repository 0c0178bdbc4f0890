// Package finding weighs the records of a log: which cause each shows, how much it decides, and in which words.
//
// [WeighRecords] asks for each kind of record a weigher, which chooses an [Answer] of data/diagnosis by small tables of
// names, by the class and words of an exception, and by whose code raised it. A [Finding] is the result: a line with
// its cause, blame, weight, sentence and steps. Findings that only follow from another failure of the log are dropped.
// Which finding wins is decided by package decide.
package finding

import (
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/signature"
)

// Finding is a line with its meaning in this log: the words of its signature, unless a reader of its numbers knew
// better.
type Finding struct {
	signature.Hit
	Cause   string
	Blame   decide.Blame
	Rule    string
	Because string
	Do      []string
	With    []signature.Hit // lines that the meaning rests on besides its own
	Form    *record.Record  // that made it; nil where a row did
	ByWords bool            // the form read no more than words: nothing is prescribed
}
