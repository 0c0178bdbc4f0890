package finding

import (
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/record"
)

// takenDown matches exceptions that parts of a program raise during teardown: a cancelled task, an engine, an actor or
// a worker that is gone, a pipe or connection closed at the other end. Another line of the log, if kept, gives the
// reason.
var takenDown = lazyregexp.New(`^(?:Cancelled|\w*EngineDead|ClientDisconnect(?:ed)?|ServerDisconnected|WebSocketDisconnect|` +
	`ConnectionClosed\w*|(?:Ray)?Actor(?:Died|Unavailable)?|WorkerCrashed|ProcessExited|ProcessRaised|EndOfStream|` +
	`(?:Closed|Broken)Resource|BrokenPipe|Connection(?:Reset|Aborted)|ChildFailed)(?:Error|Exception)?$`)

// headsFailure matches a heading that only announces a traceback, or only points to the lines above.
var headsFailure = lazyregexp.New(`Exception in ASGI application$|^Exception in (?:thread|callback|worker) |` +
	`^Exception ignored in|[Ee]ngine core (?:died|initialization failed)|[Ww]orker \S+ (?:pid \d+ )?died|` +
	`[Ss]ee (?:root cause|stack trace|the (?:error|log)s?)\b.* above`)

// isTakenDown reports whether an exception only shows that the program or its partner was being taken down.
func isTakenDown(r *record.Record) bool {
	if r.Kind != "exception" {
		return false
	}
	class := r.Slot("class")
	return takenDown.MatchString(class) || meansPeerLost(r.RaisingFrame(), class)
}

// failedBefore reports whether the log has, above a line of it, an exception that no teardown explains.
func failedBefore(records []record.Record, source, line int) bool {
	for i := range records {
		r := &records[i]
		if r.Source == source && r.Line < line && r.Kind == "exception" && r.Frames != nil && !r.Notice && !r.Earlier &&
			!isTakenDown(r) && !ofPartner.MatchString(r.Text) {
			return true
		}
	}
	return false
}
