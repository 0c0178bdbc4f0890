package record

import (
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
)

// FindArea returns the answer for the subject of a complaint, or "" if no word shows it.
func FindArea(text string) string {
	text = Paths.ReplaceAllString(text, "")
	i := slices.IndexFunc(Areas, func(a Area) bool { return a.words.MatchString(text) })
	if i < 0 {
		return ""
	}
	return Areas[i].Answer
}

// Paths matches addresses and directories, whose words say nothing about what failed.
var Paths = lazyregexp.New(`https?://\S*|(?:[A-Za-z]:|~)?[/\\](?:home|root|opt|usr|mnt|data|workspace|tmp|app|` +
	`scratch|lustre|gpfs|Users|var|[\w.-]*conda\w*)[/\\](?:[^\s/\\'"]+[/\\])*`)

// complains matches the words of a sentence that says that something did not work.
var complains = lazyregexp.New(`(?i)\b(?:error|errors|fatal|fail(?:ed|ure|s)?|cannot|can.?t|could not|couldn.t|` +
	`unable to|did not|does not|doesn.t|not (?:found|permitted|allowed|supported|recogni[sz]ed|available|valid|` +
	`enough|possible|set|exist)|invalid|denied|refused|rejected|missing|exceed(?:s|ed|ing)?|no such|unrecogni[sz]ed|` +
	`unknown (?:option|flag|argument|encoder|command|model)|unexpected|mismatch(?:ed)?|conflicts?|abort(?:ing|ed)|` +
	`terminat\w+|undefined|must (?:be|have)|too (?:old|long|large|small|many|few|high)|unsupported|unstable|reached|` +
	`nothing provides|expects?|required?|requires)\b`)

// ErrorLine matches the start of a line in which a program says that it failed.
var ErrorLine = lazyregexp.New(`(?i)^(?:[\w./()-]+: )?(?:error|fatal(?: error)?|critical|panic|(?:uncaught |` +
	`unhandled )?exception)\b|\b(?:error|fatal|critical|panic|aborting)(?:\[\w+\])?\s*[:|!]|` +
	`\[(?:e|f|error|fatal|critical)\]|OP_REQUIRES failed|level"?[=:]"?(?:error|fatal)|^ERRO\[|\(EE\)|\[FAILED\]|` +
	`(?-i:\bERROR\b)|\b[EF] (?:srv|slot|\w+/\S+\.\w+:\d+\])|^[EF]\d{4} `)

// begins matches the words with which a program's sentence about its own failure begins or ends.
var begins = lazyregexp.New(`(?i)^(?:failed|unable|cannot|can.?t|could ?n.t|could not|no|not|missing|unsupported|` +
	`invalid|outdated|unknown|you do not|this program needs) |failed to initiali[sz]e|not (?:installed|` +
	`enabled in this build)\.?$`)

// ProgramAreas lists the areas of a program's own input. The other areas belong to the machine and its software.
var ProgramAreas = []string{"unstable", "context", "usage", "given-file", "input", "memory-said"}

// toldPlainly lists the areas that count even in a line that does not call itself an error, because few programs print
// such a line and continue.
var toldPlainly = []string{"too-hot", "device-gone", "service", "off-the-bus", "disk-full", "unstable", "context",
	"graphics"}

// ReadComplaint returns the record of a sentence that no other grammar reads and that says that something did not work.
// It leads to a verdict only if the program itself says that it failed.
func ReadComplaint(l logtext.Line) *Record {
	if len(l.Text) > MaxComplaint || complaintOfOthers.MatchString(l.Text) || !complains.MatchString(l.Text) {
		return nil
	}
	if logtext.Hypothetical.MatchString(l.Text) {
		return nil
	}
	if !ErrorLine.MatchString(l.Text) && !toldAloud(l.Text) {
		return nil
	}
	return &Record{Kind: "complaint", Slots: map[string]string{"sentence": logtext.TrimLoggerPrefix(l.Text)}, Line: l.Number,
		Text: l.Text, Notice: logtext.IsNotice(l.Text)}
}

// toldAloud reports whether a line describes an error although it does not call itself one.
func toldAloud(text string) bool {
	loud := begins.MatchString(logtext.TrimLoggerPrefix(text)) && AboutGPU.MatchString(text)
	if !loud && !slices.ContainsFunc(Areas, func(a Area) bool { return a.plain() && a.words.MatchString(text) }) {
		return false // most lines: the other areas need not be looked through
	}
	about := FindArea(text)
	return slices.Contains(toldPlainly, about) || loud && !slices.Contains(ProgramAreas, about)
}

// plain reports whether the area counts in a line that does not call itself an error.
func (a Area) plain() bool { return slices.Contains(toldPlainly, a.Answer) }

// complaintOfOthers matches lines that look like a complaint but are not the program's: from a compiler, a launcher, a
// check, source code, or an announcement; about something that the program does without; or about a job that somebody
// ended without saying why.
var complaintOfOthers = lazyregexp.New(`\.\w+:\d+:\d+:|\.\w+\(\d+\): (?:error|warning)|exit ?code|exit status|` +
	`returned non-zero|Check failed|^ *(?:warnings\.warn|raise |print|assert |logg|log\.|"|')|` +
	`executable file not found|^\[?(?:notice|hint)|^configure: |:$|peermem|CANCELLED AT \S+ \*\*\*|` +
	`(?i:(?:not|non-?) ?fatal|, ?(?:rebuilding|retrying|skipp\w+|ignoring|assuming|continuing|falling))`)

// MaxComplaint is the maximum length of a line that counts as one sentence.
const MaxComplaint = 600

// StatesFailure reports whether a line itself says that it failed, or belongs to an area that needs no such words.
func (r *Record) StatesFailure(about string) bool {
	return ErrorLine.MatchString(r.Text) || begins.MatchString(logtext.TrimLoggerPrefix(r.Text)) || slices.Contains(toldPlainly, about)
}

// AboutGPU matches words of the GPU and of the software on it.
var AboutGPU = lazyregexp.New(`(?i)cuda|gpu|nvidia|cudnn|nccl|tensorrt|driver|torch|triton|xformers|flash|` +
	`toolkit|extension|compiler|compute capability|sm_\d|\.so\b|\.dll|\bDLL|nvcc|ninja|backend`)
