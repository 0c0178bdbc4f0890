package formats

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"cudacompat/docs"
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
)

// The types are the used part of SARIF 2.1.0 (OASIS), with everything that GitHub's code scanning requires. It rejects
// a whole file for one result without a physical location.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool            `json:"tool"`
		Invocations []sarifInvocation    `json:"invocations"`
		Bases       map[string]sarifBase `json:"originalUriBaseIds"`
		Results     []sarifResult        `json:"results"`
		Properties  map[string]string    `json:"properties"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string    `json:"id"`
		Short   sarifText `json:"shortDescription"`
		Full    sarifText `json:"fullDescription"`
		HelpURI string    `json:"helpUri,omitempty"`
		Help    sarifHelp `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifHelp struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Rule    *sarifReference `json:"associatedRule,omitempty"`
		Level   string          `json:"level"`
		Message sarifText       `json:"message"`
	}
	sarifReference struct {
		ID string `json:"id"`
	}
	sarifBase struct {
		Description sarifText `json:"description"`
	}
	sarifResult struct {
		Rule         string             `json:"ruleId"`
		Level        verdict.Severity   `json:"level"` // the three severities are SARIF's own words
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
	sarifSuppression struct {
		Kind          string            `json:"kind"`
		Justification string            `json:"justification"`
		Properties    map[string]string `json:"properties,omitempty"`
	}
)

// sarifRoot names the tree that contains the located files: "/", or the value of --root.
const sarifRoot = "ROOT"

// sarifStart stands for a whole artifact: the evidence for a finding is often no text, and GitHub requires a line.
var sarifStart = sarifRegion{1, 1, 1, 1}

// WriteSARIF writes findings as results, waived ones with their suppression. What could not be judged is a
// notification.
func WriteSARIF(w io.Writer, r report.Report, _ layout.Style) error {
	r = r.ShortenLists()
	results := sarifResults(r)
	return report.WriteJSON(w, sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0",
		Runs: []sarifRun{{
			Tool:        sarifTool{sarifDriver{"cudacompat", r.Tool.Version, sarifRules(r, results)}},
			Invocations: []sarifInvocation{{true, notifications(r)}},
			Bases:       map[string]sarifBase{sarifRoot: {sarifText{"the root of the system that was looked at"}}},
			Results:     results,
			Properties:  map[string]string{"outcome": string(r.Outcome), "matrix": r.Tool.Matrix},
		}},
	})
}

// sarifRules returns every rule. Those with results have their page, which GitHub shows beside an alert, and a link to
// the source of the first result.
func sarifRules(r report.Report, results []sarifResult) []sarifRule {
	var list []sarifRule
	for _, rule := range matrix.Rules() {
		page, _ := fs.ReadFile(docs.Rules, "rules/"+rule.ID+".md") // that each has one, a test says
		help := sarifHelp{Text: "cudacompat explain " + rule.ID}
		if slices.ContainsFunc(results, func(res sarifResult) bool { return res.Rule == rule.ID }) {
			help.Markdown = string(page)
		}
		list = append(list, sarifRule{rule.ID, sarifText{rule.Title}, sarifText{meaning(string(page))},
			cmp.Or(r.Tool.RulePage(rule.ID), publishedAddress(r, rule.ID)), help})
	}
	return list
}

// publishedAddress returns the first address of a source in a rule's findings, or "".
func publishedAddress(r report.Report, rule string) string {
	for _, f := range r.Findings {
		i := slices.IndexFunc(f.Source, func(s string) bool { return strings.HasPrefix(s, "https://") })
		if f.Rule == rule && i >= 0 {
			return f.Source[i]
		}
	}
	return ""
}

// meaning returns the first paragraph under "What it means" in a rule's page, as plain text on one line.
func meaning(page string) string {
	_, text, _ := strings.Cut(page, "## What it means\n\n")
	text, _, _ = strings.Cut(text, "\n\n")
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "")), " ")
}

// sarifResults returns the findings, the waived ones last.
func sarifResults(r report.Report) []sarifResult {
	list := []sarifResult{}
	seen := map[string]int{}
	for _, f := range r.Findings {
		list = append(list, sarifOf(f, r, seen))
	}
	for _, s := range r.Suppressed {
		result := sarifOf(s.Finding, r, seen)
		suppression := sarifSuppression{Kind: "external", Justification: s.Reason}
		if s.Until != "" {
			suppression.Properties = map[string]string{"until": s.Until}
		}
		result.Suppressions = []sarifSuppression{suppression}
		list = append(list, result)
	}
	return list
}

func sarifOf(f verdict.Finding, r report.Report, seen map[string]int) sarifResult {
	mark := fingerprint(f)
	seen[mark]++
	return sarifResult{
		Rule: f.Rule, Level: f.Severity, Message: sarifText{appendDetails(plaintext.SummarizeFinding(f), plaintext.FormatDetails(r, f))},
		Locations: []sarifLocation{{
			Physical: sarifPlace(f, r),
			Logical:  []sarifLogical{{f.Subject + layout.NameTargets(layout.AppendUnique(nil, f.Target))}},
		}},
		Fingerprints: map[string]string{"primaryLocationLineHash": fmt.Sprintf("%s:%d", mark, seen[mark])},
	}
}

// appendDetails returns a sentence and the details after it, which may begin with the same sentence.
func appendDetails(sentence, details string) string {
	return sentence + "\n" + strings.TrimPrefix(details, sentence+"\n")
}

// sarifPlace returns a line of the file that was judged, which GitHub finds in the repository; else a file of the
// system.
func sarifPlace(f verdict.Finding, r report.Report) sarifPhysical {
	if line, ok := report.FindSourceLine(f, r); ok {
		return sarifPhysical{sarifArtifact{URI: relativeURI(r.Source)}, sarifRegion{line, 1, line, 1}}
	}
	return sarifPhysical{sarifArtifact{relativeURI(placeOf(f, r)), sarifRoot}, sarifStart}
}

// placeOf returns the file that a finding rests on: of its evidence, else the environment of its subject, else the
// driver's; "/" where nothing was read from any.
func placeOf(f verdict.Finding, r report.Report) string {
	var places []string
	for _, e := range f.Evidence {
		places = append(places, e.From)
	}
	places = append(places, f.About.Place, r.Facts.Driver.From)
	for _, place := range places {
		if strings.HasPrefix(place, "/") {
			return place
		}
	}
	return "/"
}

// relativeURI returns a path as a reference below the root, percent-encoded.
func relativeURI(path string) string {
	path = strings.TrimLeft(path, "/")
	if path == "" {
		return "."
	}
	return (&url.URL{Path: path}).String()
}

var subjectVersion = lazyregexp.New(`^(\S+) (?:[0-9]\S*|\(version unknown\))`)

// fingerprint tells a finding from others by rule, subject and target without versions, so that an upgrade updates
// an alert and does not open a second one.
func fingerprint(f verdict.Finding) string {
	subject := subjectVersion.ReplaceAllString(f.Subject, "$1")
	sum := sha256.Sum256([]byte(strings.Join([]string{f.Rule, subject, f.Target}, "\x00")))
	return fmt.Sprintf("%x", sum[:8])
}

// notifications returns the rules that could not be judged, a warning where that decides the outcome, and what could
// not be looked at.
func notifications(r report.Report) []sarifNotification {
	list := []sarifNotification{}
	if r.Outcome == verdict.Inconclusive && report.FindOpenFact(r) == nil {
		list = append(list, sarifNotification{nil, "warning", sarifText{report.ExplainNothingCompared(r)}})
	}
	for _, note := range r.Configuration.Notes() {
		level := "note"
		if configurationHides(r) {
			level = "warning"
		}
		list = append(list, sarifNotification{nil, level, sarifText{"configuration: " + note}})
	}
	for _, u := range r.Unknown {
		level := "note"
		if report.DecidesOutcome(r, u) {
			level = "warning"
		}
		text := u.Subject + layout.NameTargets(layout.AppendUnique(nil, u.Target)) + ": " + report.DescribeMissing(u)
		list = append(list, sarifNotification{&sarifReference{u.Rule}, level, sarifText{text}})
	}
	if more := r.DescribeLeftOut(); more != "" {
		list = append(list, sarifNotification{nil, "warning", sarifText{"not listed: " + more}})
	}
	for _, p := range r.Facts.Probes {
		if p.Status == "failed" {
			list = append(list, sarifNotification{nil, "warning", sarifText{"not read: " + p.Name + ": " + p.Error}})
		}
	}
	return list
}
