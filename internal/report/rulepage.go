package report

import "strings"

// RulePage returns the address of a rule's page on the web site; empty where the build was given no site.
func (t Tool) RulePage(rule string) string {
	if t.Site == "" {
		return ""
	}
	return strings.TrimSuffix(t.Site, "/") + "/rule/" + rule + "/"
}

// RuleFile returns the path of a rule's page in the repository, for a build that was given no site.
func RuleFile(rule string) string { return "docs/rules/" + rule + ".md" }
