package report

import "cudacompat/matrix/verdict"

// RulePage returns the address of a rule's page on the web site, or "" if the build has no site.
func (t Tool) RulePage(rule string) string { return verdict.RulePage(t.Site, rule) }

// RuleFile returns the path of a rule's page in the repository, for a build without a site.
func RuleFile(rule string) string { return "docs/rules/" + rule + ".md" }
