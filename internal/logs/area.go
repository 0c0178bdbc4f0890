package logs

import (
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/tables"
)

// areaOf returns the answer for the subject of a complaint, or "" if no word shows it.
func areaOf(text string) string {
	text = elsewhere.ReplaceAllString(text, "")
	i := slices.IndexFunc(areas, func(a area) bool { return a.words.MatchString(text) })
	if i < 0 {
		return ""
	}
	return areas[i].answer
}

// elsewhere matches addresses and directories, whose words say nothing about what failed.
var elsewhere = lazyregexp.New(`https?://\S*|(?:[A-Za-z]:|~)?[/\\](?:home|root|opt|usr|mnt|data|workspace|tmp|app|` +
	`scratch|lustre|gpfs|Users|var|[\w.-]*conda\w*)[/\\](?:[^\s/\\'"]+[/\\])*`)

// complains matches the words of a sentence that says that something did not work.
var complains = lazyregexp.New(`(?i)\b(?:error|errors|fatal|fail(?:ed|ure|s)?|cannot|can.?t|could not|couldn.t|` +
	`unable to|did not|does not|doesn.t|not (?:found|permitted|allowed|supported|recogni[sz]ed|available|valid|` +
	`enough|possible|set|exist)|invalid|denied|refused|rejected|missing|exceed(?:s|ed|ing)?|no such|unrecogni[sz]ed|` +
	`unknown (?:option|flag|argument|encoder|command|model)|unexpected|mismatch(?:ed)?|conflicts?|abort(?:ing|ed)|` +
	`terminat\w+|undefined|must (?:be|have)|too (?:old|long|large|small|many|few|high)|unsupported|unstable|reached|` +
	`nothing provides|expects?|required?|requires)\b`)

// aloud matches the start of a line in which a program says that it failed.
var aloud = lazyregexp.New(`(?i)^(?:[\w./()-]+: )?(?:error|fatal(?: error)?|critical|panic|(?:uncaught |` +
	`unhandled )?exception)\b|\b(?:error|fatal|critical|panic|aborting)(?:\[\w+\])?\s*[:|!]|` +
	`\[(?:e|f|error|fatal|critical)\]|OP_REQUIRES failed|level"?[=:]"?(?:error|fatal)|^ERRO\[|\(EE\)|\[FAILED\]|` +
	`(?-i:\bERROR\b)|\b[EF] (?:srv|slot|\w+/\S+\.\w+:\d+\])|^[EF]\d{4} `)

// begins matches the words with which a program's sentence about its own failure begins or ends.
var begins = lazyregexp.New(`(?i)^(?:failed|unable|cannot|can.?t|could ?n.t|could not|no|not|missing|unsupported|` +
	`invalid|outdated|unknown|you do not|this program needs) |failed to initiali[sz]e|not (?:installed|` +
	`enabled in this build)\.?$`)

// ofPrograms lists the areas of a program's own input. The other areas belong to the machine and its software.
var ofPrograms = []string{"unstable", "context", "usage", "given-file", "input", "memory-said"}

// toldPlainly lists the areas that count even in a line that does not call itself an error, because few programs print
// such a line and continue.
var toldPlainly = []string{"too-hot", "device-gone", "service", "off-the-bus", "disk-full", "unstable", "context",
	"graphics"}

// complaint returns the record of a sentence that no other grammar reads and that says that something did not work. It
// leads to a verdict only if the program itself says that it failed.
func complaint(l logtext.Line) *record {
	if len(l.Text) > maxComplaint || complaintOfOthers.MatchString(l.Text) || !complains.MatchString(l.Text) {
		return nil
	}
	if logtext.Hypothetical.MatchString(l.Text) {
		return nil
	}
	if !aloud.MatchString(l.Text) && !toldAloud(l.Text) {
		return nil
	}
	return &record{kind: "complaint", slots: map[string]string{"sentence": logtext.TrimLoggerPrefix(l.Text)}, line: l.Number,
		text: l.Text, notice: logtext.IsNotice(l.Text)}
}

// toldAloud reports whether a line describes an error although it does not call itself one.
func toldAloud(text string) bool {
	loud := begins.MatchString(logtext.TrimLoggerPrefix(text)) && aboutGPU.MatchString(text)
	if !loud && !slices.ContainsFunc(areas, func(a area) bool { return a.plain() && a.words.MatchString(text) }) {
		return false // most lines: the other areas need not be looked through
	}
	about := areaOf(text)
	return slices.Contains(toldPlainly, about) || loud && !slices.Contains(ofPrograms, about)
}

// plain reports whether the area counts in a line that does not call itself an error.
func (a area) plain() bool { return slices.Contains(toldPlainly, a.answer) }

// complaintOfOthers matches lines that look like a complaint but are not the program's: from a compiler, a launcher, a
// check, source code, or an announcement; about something that the program does without; or about a job that somebody
// ended without saying why.
var complaintOfOthers = lazyregexp.New(`\.\w+:\d+:\d+:|\.\w+\(\d+\): (?:error|warning)|exit ?code|exit status|` +
	`returned non-zero|Check failed|^ *(?:warnings\.warn|raise |print|assert |logg|log\.|"|')|` +
	`executable file not found|^\[?(?:notice|hint)|^configure: |:$|peermem|CANCELLED AT \S+ \*\*\*|` +
	`(?i:(?:not|non-?) ?fatal|, ?(?:rebuilding|retrying|skipp\w+|ignoring|assuming|continuing|falling))`)

// maxComplaint is the maximum length of a line that counts as one sentence.
const maxComplaint = 600

// ofAnyProgram lists the areas in which programs without a GPU fail in the same way.
var ofAnyProgram = []string{"access", "kernel", "installation", "network-down", "repository", "input"}

// certain lists the areas whose words are unambiguous, so that a sentence with them is believed. In the other areas
// such a sentence was wrong as often as right on logs that it was not written from (testdata/firstsight).
var certain = []string{"too-hot", "off-the-bus", "disk-full", "shared-memory", "device-gone"}

// certainOf lists areas in which a sentence is believed if the program says it aloud and names the part that failed.
// For driver, toolkit, service and engine none was wrong; for graphics only sentences about its start count.
var certainOf = map[string]*lazyregexp.Regexp{
	"driver-or-toolkit": aboutGPU,
	"service":           lazyregexp.New(`(?i)nvidia|fabric|dcgm|docker|containerd|slurm|\bmps\b`),
	"engine":            lazyregexp.New(`.`),
	"mpi": lazyregexp.New(`(?i)(?:ucx|ucp|libfabric|ofi|ibv|pmix|orte|prte)\w*\b.*(?:failed to|unable to|could not|` +
		`cannot) (?:create|open|load|init|find|start|connect)`),
	"kernel": lazyregexp.New(`(?i)nvidia|secure boot|gcc|nouveau|\bgpu`),
	"graphics": lazyregexp.New(`(?i)display|instance|platform|initiali|context|librar|\bload|driver|\bicd\b|x server|` +
		`surfaceless`),
	"no-device": lazyregexp.New(`(?i)\b(?:gpus?|devices?|adapters?)\b.{0,40}\b(?:not (?:found|available|detected|` +
		`visible)|unavailable)|(?:\bno|(?:cannot|can.t|could not|unable to) (?:find|detect|get)|` +
		`found no)\b (?:\w+[ -]){0,3}` +
		`(?:gpus?|cuda|nvidia|adapters?|devices?)\b`),
}

// notThere matches a server's answer that it does not have what was requested.
var notThere = lazyregexp.New(`(?i)\bHTTP(?: ?error)?:? ?(?:404|410)\b|\b404:? not found\b`)

// weighComplaint returns the subject of a complaint, if it is certain.
func weighComplaint(r *record, _ *tables.Tables) string {
	about := areaOf(r.slot("sentence"))
	if about == "network-down" && notThere.MatchString(r.slot("sentence")) {
		about = "no-such-address" // the server was reached
	}
	if words := certainOf[about]; slices.Contains(certain, about) || about == "no-such-address" && r.complainsAloud(about) ||
		words != nil && r.complainsAloud(about) && words.MatchString(r.slot("sentence")) || r.isLastComplaintAbout(about) {
		return about
	}
	return ""
}

// complainsAloud reports whether a line itself says that it failed, or belongs to an area that needs no such words.
func (r *record) complainsAloud(about string) bool {
	return aloud.MatchString(r.text) || begins.MatchString(logtext.TrimLoggerPrefix(r.text)) || slices.Contains(toldPlainly, about)
}
