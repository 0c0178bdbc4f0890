package matrix

import (
	"strings"

	"cudacompat/internal/lazyregexp"
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
	m := model.NewMachine(t, &a, Target{}, verdict.Policy{NoPins: true, Today: t.Date()})
	for _, n := range m.Requested {
		r := imageRequirement{name: n.Name + ":" + n.Version}
		switch m := cudaTag.FindStringSubmatch(n.Version); {
		case n.Image != nil:
			r.text = n.Image.Require
		case n.Name == "nvidia/cuda" && m != nil: // NVIDIA's images of a CUDA ask for it, whatever else is in them
			r.text = "cuda>=" + m[1]
		default:
			continue
		}
		if cuda, ok := strings.CutPrefix(r.text, "cuda>="); ok {
			r.cuda = version.Of(cuda)
		}
		if highest.name == "" || r.cuda.Known() && (!highest.cuda.Known() || highest.cuda.Less(r.cuda)) {
			highest = r
		}
	}
	return highest
}
