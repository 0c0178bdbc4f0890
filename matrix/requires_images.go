package matrix

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/requires"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// CompareImages lists the images by which a file starts from a higher NVIDIA_REQUIRE_CUDA than before. No build needs what
// such an image asks for, but a runtime in legacy or csv mode refuses to start it on an older driver.
func CompareImages(t *Tables, old, now facts.Facts) []requires.ImageChange {
	list := []requires.ImageChange{}
	was, is := highestRequirement(t, old), highestRequirement(t, now)
	if is.cuda.Known() && was.name != "" && (!was.cuda.Known() || was.cuda.Less(is.cuda)) {
		list = append(list, requires.ImageChange{Old: was.name, New: is.name, OldRequire: was.text, NewRequire: is.text})
	}
	return list
}

// cudaTag matches the CUDA release with which the tags of NVIDIA's own images begin: 13.3.0-base-ubuntu24.04.
var cudaTag = lazyregexp.New(`^(\d+\.\d+)\.\d+(?:-|$)`)

// imageRequirement is the first clause of an image's NVIDIA_REQUIRE_CUDA.
type imageRequirement struct {
	name, text string
	cuda       version.Number
}

// highestRequirement returns the image of a file that asks for the newest CUDA, or any that asks for none.
func highestRequirement(t *Tables, f facts.Facts) (highest imageRequirement) {
	a := stripMachine(f)
	return highestOf(model.NewMachine(t, &a, Target{}, verdict.Policy{NoPins: true, Today: t.Date()}))
}

func highestOf(m *model.Machine) (highest imageRequirement) {
	var list []imageRequirement
	set := map[string]bool{} // images whose requirement the file sets itself
	for _, e := range m.Facts.Environments {
		for _, n := range e.Requested {
			if n.Require != "" {
				clause, _, _ := strings.Cut(n.Require, " ")
				list, set[n.Name] = append(list, imageRequirement{name: n.Name + ":" + n.Version, text: clause}), true
			}
		}
	}
	for _, n := range m.Requested {
		name := n.Name + ":" + n.Version
		switch tag := cudaTag.FindStringSubmatch(n.Version); {
		case set[n.Name]:
		case n.Image != nil:
			list = append(list, imageRequirement{name: name, text: n.Image.Require})
		case n.Name == "nvidia/cuda" && tag != nil: // NVIDIA's images of a CUDA ask for it, whatever else is in them
			list = append(list, imageRequirement{name: name, text: "cuda>=" + tag[1]})
		}
	}
	for _, r := range list {
		if cuda, ok := strings.CutPrefix(r.text, "cuda>="); ok {
			r.cuda = version.ParseOrZero(cuda)
		}
		if highest.name == "" || r.cuda.Known() && (!highest.cuda.Known() || highest.cuda.Less(r.cuda)) {
			highest = r
		}
	}
	return highest
}

// declaredBelow returns the image of an artefact that declares a lower CUDA than its builds need; nil if it does not. A
// container runtime starts such an image on hosts where the builds cannot run.
func declaredBelow(t *Tables, m *model.Machine, r requires.Requirement) *requires.Declared {
	needed := version.ParseOrZero(OldestDriver(r))
	image := highestOf(m)
	if !image.cuda.Known() || !needed.Known() || len(r.Unknown) > 0 {
		return nil
	}
	for _, b := range tables.Rows[tables.Branch](t) { // the oldest first
		if !b.CUDA.Known() || b.CUDA.LessShort(image.cuda) {
			continue
		}
		if b.Number() >= needed.Major() {
			return nil
		}
		return &requires.Declared{Image: image.name, Require: image.text, Branch: b.Branch, Needs: needed.String()}
	}
	return nil
}
