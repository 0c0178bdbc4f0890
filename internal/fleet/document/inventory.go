package document

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/usage"
	"cudacompat/probe/host"
)

// inventoryCap limits a list of nodes, by names and by bytes (5,000 nodes are 100 MB in `kubectl get nodes -o json`).
const (
	inventoryNames = 1_000_000
	inventoryBytes = 1 << 30
)

// ReadInventory reads the names of the expected nodes: the output of `kubectl get nodes` or `sinfo`, or one name on each
// line.
func ReadInventory(name string) ([]string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|host.NonBlock, 0) // a pipe without a writer is empty
	if err != nil {
		return nil, &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", name, usage.StripPath(err)), Hint: ""}
	}
	defer f.Close()
	r := bufio.NewReaderSize(io.LimitReader(f, inventoryBytes), 64<<10)
	if mark, _ := r.Peek(3); string(mark) == "\ufeff" {
		_, _ = r.Discard(len(mark))
	}
	var names []string
	if first, _ := r.Peek(1); string(first) == "{" {
		names, err = listNamesInJSON(r)
	} else {
		names, err = listNamesInLines(r)
	}
	if err == nil && len(names) == 0 {
		err = errors.New("there is no node in it")
	}
	if err != nil {
		return nil, &usage.Error{Message: fmt.Sprintf("cannot read the inventory %q: %v", name, err),
			Hint: "one name a line, or the output of `kubectl get nodes`, `kubectl get nodes -o json` or `sinfo`"}
	}
	return names, nil
}

// listNamesInJSON returns the names in a list of Kubernetes nodes. It reads one node at a time.
func listNamesInJSON(r io.Reader) ([]string, error) {
	d := json.NewDecoder(r)
	var names []string
	if _, err := d.Token(); err != nil { // {
		return nil, errors.New(describeJSONError(err))
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, errors.New(describeJSONError(err))
		}
		if key != "items" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return nil, errors.New(describeJSONError(err))
			}
			continue
		}
		if open, err := d.Token(); err != nil || open != json.Delim('[') {
			return nil, errors.New("its items are not a list")
		}
		for d.More() {
			var node struct {
				Metadata struct{ Name string }
			}
			if err := d.Decode(&node); err != nil {
				return nil, errors.New(describeJSONError(err))
			}
			if names = append(names, node.Metadata.Name); len(names) > inventoryNames {
				return nil, errManyNodes
			}
		}
		return names, nil
	}
	return nil, errors.New("it is JSON without items")
}

var errManyNodes = fmt.Errorf("it names more than %d nodes", inventoryNames)

// listNamesInLines returns the names in the column NAME (kubectl) or NODELIST (sinfo), otherwise in the first column.
func listNamesInLines(r io.Reader) ([]string, error) {
	var names []string
	column := 0
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 0; lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		n++
		if i := slices.IndexFunc(words, func(w string) bool { return w == "NAME" || w == "NODELIST" }); n == 1 && i >= 0 {
			column = i
			continue
		}
		if column >= len(words) {
			return nil, fmt.Errorf("a line has fewer columns than the first: %.60q", lines.Text())
		}
		list, err := expandHostList(strings.TrimPrefix(words[column], "node/"), inventoryNames-len(names))
		if err != nil {
			return nil, err
		}
		names = append(names, list...)
	}
	slices.Sort(names)
	return slices.Compact(names), lines.Err()
}

// expandHostList returns the names in a Slurm host list, "gpu[001-003,7],login1".
func expandHostList(text string, most int) ([]string, error) {
	var names []string
	for _, part := range splitOutsideBrackets(text) {
		before, rest, ranged := strings.Cut(part, "[")
		inside, after, closed := strings.Cut(rest, "]")
		if ranged != closed {
			return nil, fmt.Errorf("%.60q is not a list of nodes", text)
		}
		middles := []string{""}
		if ranged {
			var err error
			if middles, err = expandRange(inside, most-len(names)); err != nil {
				return nil, err
			}
			if after != "" { // "rack[1-2]n[1-4]"
				ends, err := expandHostList(after, most)
				if err != nil {
					return nil, err
				}
				if len(ends)*len(middles) > most-len(names) {
					return nil, errManyNodes
				}
				for _, m := range middles {
					for _, end := range ends {
						names = append(names, before+m+end)
					}
				}
				continue
			}
		}
		for _, m := range middles {
			if names = append(names, before+m); len(names) > most {
				return nil, errManyNodes
			}
		}
	}
	return names, nil
}

// splitOutsideBrackets splits a list at the commas outside brackets.
func splitOutsideBrackets(text string) []string {
	depth := 0
	return strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		}
		return r == ',' && depth == 0
	})
}

// expandRange returns the numbers in "001-003,7", with their leading zeros.
func expandRange(text string, most int) ([]string, error) {
	var list []string
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || last < first {
			return nil, fmt.Errorf("%.60q is not a range of numbers", part)
		}
		if last-first >= most-len(list) {
			return nil, errManyNodes
		}
		for n := first; n <= last; n++ {
			list = append(list, fmt.Sprintf("%0*d", len(from), n))
		}
	}
	return list, nil
}
