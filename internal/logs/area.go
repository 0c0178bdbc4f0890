package logs

import (
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
)

// areaOf returns the answer for what a complaint is about; empty when none of its words tells.
func areaOf(text string) string {
	text = elsewhere.ReplaceAllString(text, "")
	i := slices.IndexFunc(areas, func(a area) bool { return a.words.MatchString(text) })
	if i < 0 {
		return ""
	}
	return areas[i].answer
}

// elsewhere are addresses, and the directories of a path, whose words say nothing of what failed.
var elsewhere = lazyregexp.New(`https?://\S*|(?:[A-Za-z]:|~)?[/\\](?:home|root|opt|usr|mnt|data|workspace|tmp|app|` +
	`scratch|lustre|gpfs|Users|var|[\w.-]*conda\w*)[/\\](?:[^\s/\\'"]+[/\\])*`)

// complains are the words of a sentence that says that something did not work.
var complains = lazyregexp.New(`(?i)\b(?:error|errors|fatal|fail(?:ed|ure|s)?|cannot|can.?t|could not|couldn.t|` +
	`unable to|did not|does not|doesn.t|not (?:found|permitted|allowed|supported|recogni[sz]ed|available|valid|` +
	`enough|possible|set|exist)|invalid|denied|refused|rejected|missing|exceed(?:s|ed|ing)?|no such|unrecogni[sz]ed|` +
	`unknown (?:option|flag|argument|encoder|command|model)|unexpected|mismatch(?:ed)?|conflicts?|abort(?:ing|ed)|` +
	`terminat\w+|undefined|must (?:be|have)|too (?:old|long|large|small|many|few|high)|unsupported|unstable|reached|` +
	`nothing provides|expects?|required?|requires)\b`)

// aloud is how a program begins a line by which it says itself that it failed.
var aloud = lazyregexp.New(`(?i)^(?:[\w./()-]+: )?(?:error|fatal(?: error)?|critical|panic|(?:uncaught |` +
	`unhandled )?exception)\b|\b(?:error|fatal|critical|panic|aborting)(?:\[\w+\])?\s*[:|!]|` +
	`\[(?:e|f|error|fatal|critical)\]|OP_REQUIRES failed|level"?[=:]"?(?:error|fatal)|^ERRO\[|\(EE\)|\[FAILED\]|` +
	`(?-i:\bERROR\b)|\b[EF] (?:srv|slot|\w+/\S+\.\w+:\d+\])|^[EF]\d{4} `)

// begins are the words with which a program's own sentence of failing begins, or that it ends with.
var begins = lazyregexp.New(`(?i)^(?:failed|unable|cannot|can.?t|could ?n.t|could not|no|not|missing|unsupported|` +
	`invalid|outdated|unknown|you do not|this program needs) |failed to initiali[sz]e|not (?:installed|` +
	`enabled in this build)\.?$`)

// ofPrograms are the areas of a program's own input; the others are of the machine and what is installed on it.
var ofPrograms = []string{"unstable", "context", "usage", "given-file", "input", "memory-said"}

// toldPlainly are the areas of which a line tells though it does not say that it is an error: few programs print such a
// thing and go on.
var toldPlainly = []string{"too-hot", "device-gone", "service", "off-the-bus", "disk-full", "unstable", "context",
	"graphics"}

// complaint returns the record of a sentence that no other grammar reads: something did not work. It earns a verdict
// only where the program itself says that it failed.
func complaint(l logLine) *record {
	if len(l.text) > maxComplaint || complaintOfOthers.MatchString(l.text) || !complains.MatchString(l.text) {
		return nil
	}
	if hypothetical.MatchString(l.text) {
		return nil
	}
	if !aloud.MatchString(l.text) && !toldAloud(l.text) {
		return nil
	}
	return &record{kind: "complaint", slots: map[string]string{"sentence": message(l.text)}, line: l.number,
		text: l.text, notice: informs(l.text)}
}

// toldAloud reports whether a line that does not say that it is an error tells of one all the same.
func toldAloud(text string) bool {
	loud := begins.MatchString(message(text)) && aboutGPU.MatchString(text)
	if !loud && !slices.ContainsFunc(areas, func(a area) bool { return a.plain() && a.words.MatchString(text) }) {
		return false // most lines: the other areas need not be looked through
	}
	about := areaOf(text)
	return slices.Contains(toldPlainly, about) || loud && !slices.Contains(ofPrograms, about)
}

// plain reports whether lines of the area tell of trouble though they do not say that it is an error.
func (a area) plain() bool { return slices.Contains(toldPlainly, a.answer) }

// complaintOfOthers are lines that look like a complaint and are a compiler's, a launcher's, a check's, source, an announcement, of
// something that the program goes on without, or of a job that somebody ended, nobody says why.
var complaintOfOthers = lazyregexp.New(`\.\w+:\d+:\d+:|\.\w+\(\d+\): (?:error|warning)|exit ?code|exit status|` +
	`returned non-zero|Check failed|^ *(?:warnings\.warn|raise |print|assert |logg|log\.|"|')|` +
	`executable file not found|^\[?(?:notice|hint)|^configure: |:$|peermem|CANCELLED AT \S+ \*\*\*|` +
	`(?i:(?:not|non-?) ?fatal|, ?(?:rebuilding|retrying|skipp\w+|ignoring|assuming|continuing|falling))`)

// maxComplaint is how long a line may be that is one sentence.
const maxComplaint = 600

// ofAnyProgram are the areas in which programs that never touch a GPU fail alike.
var ofAnyProgram = []string{"access", "kernel", "installation", "network-down", "repository", "input"}

// certain are the areas whose words are of nothing else: a sentence with them is believed. Of the others a sentence was
// as often wrong as right on logs from which it was not written (testdata/firstsight).
var certain = []string{"too-hot", "off-the-bus", "disk-full", "shared-memory", "device-gone"}

// certainOf are the areas of which a sentence is believed that a program says aloud and that names the part that
// failed: of driver, toolkit, service and engine none was wrong, of graphics those that tell of its start.
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

// notThere is how a server answers that it does not have what was asked for.
var notThere = lazyregexp.New(`(?i)\bHTTP(?: ?error)?:? ?(?:404|410)\b|\b404:? not found\b`)

// weighComplaint says what a complaint is about, where that is certain.
func weighComplaint(r *record, _ *tables.Tables) string {
	about := areaOf(r.slot("sentence"))
	if about == "network-down" && notThere.MatchString(r.slot("sentence")) {
		about = "no-such-address" // the server was reached
	}
	if words := certainOf[about]; slices.Contains(certain, about) || about == "no-such-address" && r.complainsAloud(about) ||
		words != nil && r.complainsAloud(about) && words.MatchString(r.slot("sentence")) || r.endsWith(about) {
		return about
	}
	return ""
}

// complainsAloud reports whether a line says itself that it failed, or is of an area of which lines tell plainly.
func (r *record) complainsAloud(about string) bool {
	return aloud.MatchString(r.text) || begins.MatchString(message(r.text)) || slices.Contains(toldPlainly, about)
}
