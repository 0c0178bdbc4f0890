package logs

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/tables"
)

// lastError returns the record of what NCCL names as its last error, which is the root of the generic error above it:
//
//	ncclInternalError: Internal check failed.
//	Last error:
//	NET/OFI Unable to insert remote address into address vector for device 1. RC: 0
func lastError(l logtext.Line, next []logtext.Line) []record {
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
	return []record{{kind: "nccl-said", slots: map[string]string{"said": said}, line: at.Number, text: at.Text}}
}

// NCCL's words about EFA traffic that does not arrive, about its plugin, and about a partner that is gone.
var (
	efaBlocked  = lazyregexp.New(`NET/OFI (?:Unable to insert remote address|Request \S* ?completed with error)`)
	partnerGone = lazyregexp.New(`(?i)closed by remote|connection (?:reset|closed|refused|timed out)|remote peer|socketProgress|broken pipe|peer .{0,20}(?:exit|abort)`)
)

// weighNCCLSaid judges what NCCL reports as its last error.
func weighNCCLSaid(r *record, _ *tables.Tables) string {
	switch said := r.slot("said"); {
	case efaBlocked.MatchString(said):
		return "efa-blocked"
	case strings.HasPrefix(said, "NET/OFI"):
		return "nccl-plugin"
	case partnerGone.MatchString(said):
		return "nccl-partner"
	}
	return "nccl-said"
}
