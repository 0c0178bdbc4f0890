package report

import "strings"

// RulePage returns the address of a rule's page on the web site; empty where the build was given no site.
func (t Tool) RulePage(rule string) string {
	if t.Site == "" {
		return ""
	}
	return strings.TrimSuffix(t.Site, "/") + "/rule/" + rule + "/"
}
