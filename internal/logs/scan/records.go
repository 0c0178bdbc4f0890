package scan

import (
	"context"
	"slices"
	"time"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/logs/traceback"
)

// MinRecordTime is the minimum time for reading a log's lines by grammars, if reading the log took all the time.
const MinRecordTime = 50 * time.Millisecond

// ReadRecords reads the kept lines of a log with every grammar, as far as time allows. It always takes at least the
// given time. [DropHarmless] then tells which of the records show trouble.
func (s *Scanner) ReadRecords(ctx context.Context, source int, least time.Duration) ([]record.Record, error) {
	end := time.Now().Add(least)
	lines := s.Kept.Lines()
	calls := traceback.ReadAll(lines)
	wentOn := max(s.last.findWorkAfter(s.lines), lastServed(lines))
	_, ended := s.last.lines(s.lines)
	onGPU := lastOnGPU(lines)
	build := s.build(lines)
	last, edited := findLastRun(lines)
	var all []record.Record
	releases := map[string]string{} // by project
	silent := map[string]bool{}     // lines that say nothing, unless together with what follows: logs repeat themselves
	for i, l := range lines {
		if ctx.Err() != nil && time.Now().After(end) {
			return all, context.Cause(ctx)
		}
		read := record.ReadLine
		if silent[l.Text] && !l.IsMute() {
			read = record.ReadPairs
		}
		found := read(l, lines[i+1:])
		silent[l.Text] = len(found) == 0
		for _, r := range found {
			r.Source, r.WentOn, r.OnGPU, r.Calm = source, wentOn, onGPU, s.Kept.Calm-l.Calm
			r.InJournal, r.Built, r.Earlier = l.InJournal, build.holds(l.Number), l.Number < last
			r.Edited = edited && !r.Earlier && record.SyntaxErrors.MatchString(r.Slots["class"])
			r.Notice = r.Notice || belowHead(lines, i)
			r.Frames, r.Wraps = calls[l.Number].Frames, calls[l.Number].Wraps
			r.Notice = r.Notice || r.IsFromResourceTracker()
			r.From, r.Final = l.From, ended-l.Number < lastLines
			r.Superseded = record.IsSuperseded(lines[i+1:])
			if _, project, found := r.FindProjectCall(); found {
				if _, known := releases[project]; !known && len(releases) < record.MaxProjects {
					releases[project] = record.FindRelease(lines, project)
				}
				r.Slots["release"] = releases[project]
			}
			r.ReadSource(lines[max(0, i-record.SourceReach):i])
			all = append(all, r)
		}
	}
	if first := record.ReadFirstRank(lines); first != nil {
		first.Source, first.WentOn, first.Calm = source, wentOn, s.Kept.CountCalmAfter(lines, first.Line)
		first.Earlier = first.Line < last
		all = append(all, *first)
	}
	return all, nil
}

// DropHarmless returns the records without those of lines that the signatures or the lines themselves say are harmless.
func DropHarmless(signatures []signature.Signature, all []record.Record) []record.Record {
	return slices.DeleteFunc(all, func(r record.Record) bool {
		return FindHarmless(signatures, r.Text) != "" || reassures.MatchString(r.Text) || nothingCounted.MatchString(r.Text) ||
			resolved.MatchString(r.Text)
	})
}

// nothingCounted matches a line of nvidia-smi -q, or of DCGM's table, whose counter is zero ("Uncorrectable Error :
// 0"), a list of what firmware may count, and what NVIDIA's report did not collect.
var nothingCounted = lazyregexp.New(`\b(?:[Nn]o|0) (?:errors|failures|warnings)(?: (?:found|detected|encountered|reported)\b|\W*$)|\s[:|] +(?:0|N/A|No|None) *\|?$|^\s*Descriptor \d+: |` +
	`nvidia-bug-report\.sh: \d+: `)

// resolved matches ldd's line for a library that the loader found.
var resolved = lazyregexp.New(`^\s*\S+ => /\S+ \(0x[0-9a-f]+\)$`)

// FindHarmless returns the id of the signature that knows a line to be harmless, or "".
func FindHarmless(signatures []signature.Signature, text string) string {
	i := slices.IndexFunc(signatures, func(s signature.Signature) bool {
		return s.Blame == decide.None && logtext.ContainsAny(text, s.Literal) && s.Find(text) != nil
	})
	if i < 0 {
		return ""
	}
	return signatures[i].ID
}
