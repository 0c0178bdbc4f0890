//go:build ignore

// buildkit reads Dockerfiles with BuildKit's own parser: one JSON string a line on standard input, its instructions as
// JSON on standard output, null where it refuses the file. tools/buildkit/compare.sh runs it beside our reader.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

type instruction struct {
	Line  int
	Name  string
	Flags []string
	List  []string // of the form ["a", "b"]
	Docs  [][2]string
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) != nil {
			panic("not a JSON string")
		}
		result, err := parser.Parse(strings.NewReader(text))
		if err != nil {
			out.Encode(nil)
			continue
		}
		list := []instruction{}
		for _, node := range result.AST.Children {
			i := instruction{Line: node.StartLine, Name: strings.ToUpper(node.Value), Flags: node.Flags}
			if node.Attributes["json"] {
				for n := node.Next; n != nil; n = n.Next {
					i.List = append(i.List, n.Value)
				}
			}
			for _, h := range node.Heredocs {
				content := h.Content
				if h.Chomp {
					content = parser.ChompHeredocContent(content)
				}
				i.Docs = append(i.Docs, [2]string{h.Name, content})
			}
			list = append(list, i)
		}
		out.Encode(list)
	}
}
