package logtext

import "cudacompat/internal/lazyregexp"

// IsNotice reports whether the line's own level is information or a warning.
func IsNotice(line string) bool {
	return (level.MatchString(line) || milder.MatchString(line)) && !ContainsAny(line, failsAloud)
}

// failsAloud lists lines whose level is lower than their meaning.
var failsAloud = []string{"FailedCreate", "FailedMount", "FailedScheduling",
	"BackOff", "kubelet  Error", "failed to get device context", "Failed to acquire", `error="nvcuda`, "NCCL WARN", "OP_REQUIRES failed",
	"erroneous pipeline", "terminating driver service (forced)", "driver service terminated with signal",
	"caught exception", "xecution provider", "xecutionProvider"}

// level and milder are separate because package regexp becomes slow for a program of over 500 steps.
var (
	level = lazyregexp.New(`^-- |^ls: |^ssh: |^(?:XFAIL|XPASS|SKIPPED) |^\[W[ \d]|\] \[W\] |^(?:.{0,60}[ \[:=(]|)(?:INFO|info|Info|DEBUG|debug|` +
		`WARN|WARNING|warn|warning|Warning|TRACE|NOTE|Note)\b|\w+Warning: |(?:^|[\d:] )[IW] \w[\w/]*\.(?:cc|cpp|py):|` +
		`^[IW]\d{4} |^(?:\[ *[\d.]+\] )?\((?:II|WW)\) `)
	milder = lazyregexp.New(`(?i)but the current compiler version is|gpu will not be used|fall(?:ing|s)? back|` +
		`will be (?:disabled|ignored)|option will be ignored|pinned memory|offloaded to|, looking in |, using native |` +
		`using .{0,40} instead|retrying|^\W*\w+ +disabled \(|libGL error|nvidia-installer \w+ (?:v\d+ )?user interface|` +
		`\(EE\) Failed to load module "\w+" \(module does not exist|\bACPI (?:BIOS )?(?:Error|Warning)\b|` +
		`^load_backend: failed to find ggml_backend_init in `)
)

// StatesAt reports whether a line states the text at a position and does not quote it. A negative position counts as
// quoted.
func StatesAt(text string, at int) bool {
	return at >= 0 && !Hypothetical.MatchString(text[:at]) && !IsQuotedAsCode(text, text[:at])
}
