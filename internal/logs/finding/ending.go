package finding

import (
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/traceback"
	"cudacompat/internal/tables"
)

func weighXid(r *record.Record, t *tables.Tables) string {
	x := t.Xid(r.Text[strings.Index(r.Text, "NVRM"):])
	if x == nil {
		return ""
	}
	r.Slots["meaning"] = x.Meaning
	switch blame := decide.Blame(x.Blame); {
	case containedXids.MatchString(r.Text):
		return "xid"
	case x.Action == "check-power":
		return "xid-power"
	case blame == decide.Hardware:
		return "xid-hardware"
	case blame == decide.Program:
		return "xid-program"
	}
	return "xid"
}

// containedXids matches the Xids which say that the GPU continues to work.
var containedXids = lazyregexp.New(`(?i)non-?fatal|\bcontained\b|corrected`)

func weighMemory(r *record.Record, _ *tables.Tables) string {
	switch {
	case strings.Contains(r.Text, "allocate resources"): // a scheduler's
		return ""
	case r.Slot("want") != "" && strings.Contains(r.Text, r.Slot("want")+" free"): // not what was asked for
		return "memory"
	case r.Slot("want") != "":
		return "memory-want"
	case r.Frames != nil || traceback.RaisedLine.MatchString(logtext.TrimLoggerPrefix(r.Text)):
		return "memory"
	}
	return "memory-unsaid" // a compiled program's: another process may hold it
}

// signals describes how a process ended, by the code that shells and launchers report.
var signals = map[string]string{"-11": "a bad pointer (SIGSEGV)", "11": "a bad pointer (SIGSEGV)", "139": "a bad " +
	"pointer (SIGSEGV)",
	"-9": "SIGKILL, mostly because main memory ran out", "9": "SIGKILL, mostly because main memory ran " +
		"out", "137": "SIGK" +
		"ILL, mostly because main memory ran out",
	"-7": "SIGBUS, mostly because shared memory ran out", "7": "SIGBUS, mostly because shared memory ran " +
		"out", "135": "SI" +
		"GBUS, mostly because shared memory ran out",
	"-6": "its own abort (SIGABRT)", "6": "its own abort (SIGABRT)", "134": "its own abort (SIGABRT)", "-4": "an " +
		"instruction this processor does not have (SIGILL)", "132": "an instruction this processor does not have " +
		"(SIGILL)"}

// DescribeSignal describes a process that ended with exit status 128 plus a signal number, as shells and containers
// report it: "SIGKILL, mostly because main memory ran out". It returns "" for any other status.
func DescribeSignal(status int) string {
	if status < 128 {
		return ""
	}
	return signals[strconv.Itoa(status)]
}

func weighExit(r *record.Record, _ *tables.Tables) string {
	if r.Slot("signal") != "" {
		return "exit"
	}
	if r.Slots["signal"] = signals[r.Slot("code")]; r.Slot("code") == "-7" && endsRank.MatchString(r.Text) {
		return "exit-bus"
	}
	if r.Slot("signal") == "" {
		return ""
	}
	return "exit"
}

// weighWindowsEnd looks up the status with which Windows ended a process. It may be signed, unsigned or hexadecimal.
func weighWindowsEnd(r *record.Record, t *tables.Tables) string {
	code, _ := strconv.ParseInt(r.Slot("code"), 0, 64)
	return weighCode(r, "windows", int(int32(code)), t)
}
