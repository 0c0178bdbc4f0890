package record

import (
	"strings"

	"cudacompat/internal/logs/logtext"
)

// readLastError returns the record of what NCCL names as its last error, which is the root of the generic error above
// it:
//
//	ncclInternalError: Internal check failed.
//	Last error:
//	NET/OFI Unable to insert remote address into address vector for device 1. RC: 0
func readLastError(l logtext.Line, next []logtext.Line) []Record {
	said, found := strings.CutPrefix(logtext.TrimLoggerPrefix(l.Text), "Last error:")
	if !found {
		return nil
	}
	at := l
	if said = strings.TrimSpace(said); said == "" {
		if len(next) == 0 {
			return nil
		}
		at, said = next[0], strings.TrimSpace(logtext.TrimLoggerPrefix(next[0].Text))
	}
	if said == "" || strings.Contains(at.Text, "Traceback") {
		return nil
	}
	return []Record{{Kind: "nccl-said", Slots: map[string]string{"said": said}, Line: at.Number, Text: at.Text}}
}
