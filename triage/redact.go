package triage

import "cudacompat/internal/lazyregexp"

// secrets are the credentials that logs hold and that must not go where a report goes, which is often a public thread:
// passwords in addresses, the tokens of Hugging Face, GitHub, GitLab, Slack, OpenAI and NGC, AWS key ids, bearer
// tokens, and what is assigned to a name that says it is secret. What is left shows that something was there.
var secrets = []struct {
	pattern *lazyregexp.Regexp
	left    string
}{
	{lazyregexp.New(`://[^/\s]*@`), "://***@"},
	{lazyregexp.New(`\b(hf_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|nvapi-)[\w-]{8,}`), "${1}***"},
	{lazyregexp.New(`\b(sk-)[\w-]{20,}`), "${1}***"},
	{lazyregexp.New(`\b(AKIA|ASIA)[A-Z0-9]{12,}`), "${1}***"},
	{lazyregexp.New(`(?i)\b(bearer|basic) +[\w.~+/=-]{8,}`), "${1} ***"},
	{lazyregexp.New(`\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*`), "***"},
	{lazyregexp.New(`(?i)\b((?:\w*(?:secret|passw(?:or)?d|passwd|api_?key|access_?key)["']?\s*[=:]|` +
		`\w*token["']?=|\w+_token["']?\s*:)\s*["']?)[^\s"',;&*]{6,}`), "${1}***"},
}

// redact cuts the credentials out of a line.
func redact(text string) string {
	for _, s := range secrets {
		text = s.pattern.ReplaceAllString(text, s.left)
	}
	return text
}
