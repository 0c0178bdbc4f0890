package finding

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/tables"
)

// NCCL's words about EFA traffic that does not arrive, about its plugin, and about a partner that is gone.
var (
	efaBlocked  = lazyregexp.New(`NET/OFI (?:Unable to insert remote address|Request \S* ?completed with error)`)
	partnerGone = lazyregexp.New(`(?i)closed by remote|connection (?:reset|closed|refused|timed out)|remote peer|socketProgress|broken pipe|peer .{0,20}(?:exit|abort)`)
)

// weighNCCLSaid judges what NCCL reports as its last error.
func weighNCCLSaid(r *record.Record, _ *tables.Tables) string {
	switch said := r.Slot("said"); {
	case efaBlocked.MatchString(said):
		return "efa-blocked"
	case strings.HasPrefix(said, "NET/OFI"):
		return "nccl-plugin"
	case partnerGone.MatchString(said):
		return "nccl-partner"
	}
	return "nccl-said"
}
