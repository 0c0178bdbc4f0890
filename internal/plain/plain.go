// Package plain keeps odd English out of what people read: pages, messages, help. Only tests use it.
package plain

import (
	"regexp"
	"strings"
)

// phrase is what nobody would say, and what to write instead.
type phrase struct {
	pattern *regexp.Regexp
	instead string
}

// phrases are patterns over prose whose white space is single spaces. (?i) holds for all.
var phrases = compile([][2]string{
	{`\b(?:go|goes|went|gone) with\b`, `"fits", "works with"`},
	{`\balone\b`, `"only"`},
	{`\btake\b[^.;:]* out of (?:LD_|PYTHONPATH|the loader|the file)`, `"remove X from LD_LIBRARY_PATH"`},
	{`\bbelongs? into\b`, `"add it to"`},
	{`\b(?:its|their) kin\b`, `"such as X"`},
	{`\bwhy stands? above\b`, `"the lines above say why"`},
	{`\bas it should be\b`, `"normal"`},
	{`\b[1-9]\d* more is\b`, `"are", with the function plural`},
	{`\banew\b`, `"again"`},
	{`\bmend(?:s|ed|ing)?\b`, `"fix"`},
	{`\bof drivers? \d`, `"driver 550's libcuda", "belongs to driver 550"`},
	{`\bspeaks? (?:CUDA )?\d`, `"supports CUDA 12.2"`},
	{`\bnowhere(?:[,.;:)]| [^e]|$)`, `"not found", "missing"`},
	{`\bat rest\b`, `"that is not running", or name --root and --offline`},
	{`\b(?:is|are|be|was|were) of (?:a|an|the|another|one|that|this|CUDA|exactly|two|other|newer|older|no|different)\b`,
		`"belongs to", "has", "comes from"`},
	{`\b(?:is|are) the matter of\b`, `"RULE covers"`},
	{`\bin place of\b`, `"instead of"`},
	{`\bbut for\b`, `"except"`},
	{`\bfor want of\b`, `"because X is missing"`},
	{`\bnothing is said\b`, `"stays silent"`},
	{`\b(?:cannot|can not|can) be told\b`, `"cannot be determined"`},
	{`\bstands? (?:in|beside|on|before|there|where)\b`, `"is in", "is next to"`},
	{`\bended in \d`, `"reached end of life in June 2026"`},
	{`\ball the same\b`, `"anyway", "nevertheless"`},
	{`\b(?:came|comes|come) along\b`, `"was installed with"`},
	{`\bas (?:it|they) is\b`, `"as is"`},
	{`\ba thing that\b`, `name the thing`},
})

// noNegation is "X is no Y", which is right only as "there is no Y" and "is no longer".
var noNegation = regexp.MustCompile(`(?i)(\S+) (?:is|are|was|were) no (\w+)`)

// leftAlone is the one right use of "alone".
var leftAlone = regexp.MustCompile(`(?i)\bleav(?:e|es|ing)(?: \w+){0,4} alone\b|\bleft(?: \w+){0,3} alone\b`)

func compile(list [][2]string) []phrase {
	var all []phrase
	for _, p := range list {
		all = append(all, phrase{regexp.MustCompile(`(?i)` + p[0]), p[1]})
	}
	return all
}

// Odd lists what reads odd in a text, each with what to write instead.
func Odd(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	text = leftAlone.ReplaceAllString(text, "left")
	var odd []string
	for _, p := range phrases {
		for _, at := range p.pattern.FindAllStringIndex(text, -1) {
			odd = append(odd, around(text, at)+": write "+p.instead)
		}
	}
	for _, m := range noNegation.FindAllStringSubmatchIndex(text, -1) {
		before, after := strings.ToLower(text[m[2]:m[3]]), strings.ToLower(text[m[4]:m[5]])
		if before != "there" && after != "longer" && after != "more" {
			odd = append(odd, around(text, m[:2])+`: write "is not a"`)
		}
	}
	return odd
}

// around returns a match with some words on both sides.
func around(text string, at []int) string {
	return "…" + text[max(0, at[0]-30):min(len(text), at[1]+30)] + "…"
}
