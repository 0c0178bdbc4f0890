package treediff

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix"
	"cudacompat/matrix/requires"
	"cudacompat/probe/facts"
)

// maxRenamed limits the files on each side among which renames are searched.
const maxRenamed = 100

// findRenames maps each file that only the new directory has to the old file that asks for the same builds, if there is
// one. A bump in a file that also moved is then compared like any other.
func (c *comparison) findRenames() map[string]string {
	gone, came := listMissing(c.old, c.now), listMissing(c.now, c.old)
	was := map[string]string{}
	if len(gone) == 0 || len(came) == 0 {
		return was
	}
	if len(gone) > maxRenamed || len(came) > maxRenamed {
		c.result.Unread = append(c.result.Unread, requires.UnreadFile{File: came[0],
			Reason: "so many files were added and removed that renamed ones were not looked for"})
		return was
	}
	type pair struct {
		old, now string
		score    float64
	}
	names := map[string]map[string]bool{}
	read := func(t tree, name string) map[string]bool {
		if _, done := names[t.dir+name]; !done {
			f, err := c.readSide(t, name)
			if err != nil || f == nil {
				f = &facts.Facts{}
			}
			names[t.dir+name] = c.listDecidingPackages(f)
		}
		return names[t.dir+name]
	}
	var pairs []pair
	for _, old := range gone {
		for _, now := range came {
			if score := scoreSimilarity(old, now, read(c.old, old), read(c.now, now)); score > 0 {
				pairs = append(pairs, pair{old, now, score})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.score, a.score) })
	taken := map[string]bool{}
	for _, p := range pairs {
		if was[p.now] == "" && !taken[p.old] {
			was[p.now], taken[p.old] = p.old, true
		}
	}
	return was
}

// listMissing returns the names of one tree's files that another tree lacks, sorted.
func listMissing(t, other tree) []string {
	var names []string
	for name := range t.files {
		if _, there := other.files[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// listDecidingPackages returns the packages of a file whose releases the tables know.
func (c *comparison) listDecidingPackages(f *facts.Facts) map[string]bool {
	names := map[string]bool{}
	for _, e := range f.Environments {
		for _, b := range e.Builds {
			names[b.Name] = true
		}
		for _, r := range e.Requested {
			if len(matrix.Releases(c.Tables, r.Name)) > 0 {
				names[r.Name] = true
			}
		}
	}
	return names
}

// scoreSimilarity scores two files as a rename: first the packages that both name, then the file name, then the directory.
// It is zero if they share no package.
func scoreSimilarity(old, now string, before, after map[string]bool) float64 {
	shared := 0
	for name := range before {
		if after[name] {
			shared++
		}
	}
	if len(before)+len(after) == 0 && path.Base(old) == path.Base(now) {
		return 1 // a Dockerfile whose base image decides
	}
	if shared == 0 {
		return 0
	}
	score := float64(shared) / float64(len(before)+len(after)-shared)
	if path.Base(old) == path.Base(now) {
		score += 2
	}
	if path.Dir(old) == path.Dir(now) {
		score++
	}
	return score
}

// ownLine matches a missing fact about a quoted line, without the line's number.
var ownLine = lazyregexp.New(`^((?:service \S+, )?)line \d+(: .+)$`)

// dropShared returns both sides of a file without the missing facts that both have in the same words, about the same
// line or release. The change did not cause them, and the rest can be compared.
func dropShared(before, after facts.Facts, old, now requires.Requirement) (facts.Facts, facts.Facts, bool) {
	type words struct{ subject, missing string }
	key := func(subject, missing string) words {
		if m := ownLine.FindStringSubmatch(subject); m != nil {
			subject = m[1] + "line" + m[2]
		}
		return words{subject, missing}
	}
	shared := map[words]bool{}
	for _, u := range old.Unknown {
		shared[key(u.Subject, u.Missing)] = false
	}
	found := false
	for _, u := range now.Unknown {
		k := key(u.Subject, u.Missing)
		_, both := shared[k]
		shared[k] = both
		found = found || both
	}
	strip := func(f facts.Facts, r requires.Requirement) facts.Facts {
		f.Unread = slices.DeleteFunc(slices.Clone(f.Unread), func(u facts.Unread) bool {
			return ownLine.MatchString(u.Place) && shared[key(u.Place, u.Reason)]
		})
		f.Environments = slices.Clone(f.Environments)
		for i := range f.Environments {
			e := &f.Environments[i]
			e.Requested = slices.DeleteFunc(slices.Clone(e.Requested), func(p facts.Requested) bool {
				return slices.ContainsFunc(r.Unknown, func(u requires.Missing) bool {
					name, _, _ := strings.Cut(u.Subject, " ")
					return name == p.Name && shared[key(u.Subject, u.Missing)]
				})
			})
		}
		return f
	}
	if !found {
		return before, after, false
	}
	return strip(before, old), strip(after, now), true
}

// listUnknown returns the missing facts of the new file, and those of the old one that the new one does not have.
func listUnknown(old, now requires.Requirement) []requires.Missing {
	list := now.Missing()
	for _, u := range old.Missing() {
		if !slices.ContainsFunc(now.Missing(), func(v requires.Missing) bool { return u.Subject == v.Subject && u.Missing == v.Missing }) {
			u.Missing = "before the change: " + u.Missing
			list = append(list, u)
		}
	}
	return list
}
