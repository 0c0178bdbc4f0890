package dockerfile

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

// Build is how a Dockerfile is built, where another file says it.
type Build struct {
	Args     map[string]string // of its ARGs
	Target   string            // the stage that is wanted; empty: the last one
	Contexts map[string]string // directories and images by the names that FROM and COPY --from call them
}

// takenPath is what a stage takes out of another one, or out of an image.
type takenPath struct {
	from    string // as it is written, its variables put in
	sources []string
	number  int
}

var (
	// frameworkImage matches the images that bring a framework or an engine with it; those of CUDA alone bring libraries.
	frameworkImage = lazyregexp.New(`(?i)torch|tensorflow|tensorrt|\bjax|vllm|sglang|triton|text-generation|transformers|comfy|ollama|llama|` +
		`paddle|nemo|rapids|cupy|mxnet|lmdeploy|deepspeed|cuda\d|\bcu1[1-9]`)
	cudaImage = lazyregexp.New(`(?:^|/)nvidia/cuda(?:[:@]|$)`)
	// packagePath matches the directories that Python packages lie below.
	packagePath = lazyregexp.New(`(?i)^/?$|^\.$|^/?(?:opt|usr|usr/local|usr/lib|usr/local/lib|root|home|app|srv|workspace)/?$|^/?opt/[^/]+/?$|` +
		`conda|mamba|venv|-packages|/python|\.local|/torch|/env|wheel|\.whl$`)
	// programDir matches directories and files of programs, which no installer reads: /usr/local/bin/, /uv.
	programDir   = lazyregexp.New(`(?:^|/)s?bin(?:/[^/]*)?/?$|^/uvx?$`)
	imageContext = lazyregexp.New(`^docker-image://`)
)

// takeFrom notes what a stage takes out of another one, an image or a context with a name.
func (f *dockerfile) takeFrom(from string, sources []string, target string, number int) {
	if len(f.stages) == 0 {
		return
	}
	s := &f.stages[len(f.stages)-1]
	if context, ok := f.build.Contexts[from]; ok && f.stageOf(strings.ToLower(from), len(f.stages)) < 0 {
		if !imageContext.MatchString(context) {
			for i := range sources {
				sources[i] = path.Join(context, sources[i])
			}
			f.takes(sources, target)
			return
		}
		from = strings.TrimPrefix(context, "docker-image://")
	}
	s.needs = append(s.needs, strings.ToLower(from))
	s.taken = append(s.taken, takenPath{from, sources, number})
	if f.stageNamed(from, len(f.stages)-1) >= 0 {
		for _, source := range sources {
			if by := f.stageFiller(source); by != "" {
				f.fill(target, by)
			}
		}
	} else {
		for _, source := range sources {
			switch {
			case listFile.MatchString(source):
				f.changedFiles[path.Base(source)] = fmt.Sprintf("the image in line %d", number)
			case target != "" && !programDir.MatchString(target) && !programDir.MatchString(source):
				f.fill(target, fmt.Sprintf("the image in line %d", number))
			}
		}
	}
	for _, source := range append(slices.Clone(sources), target) {
		if settingsFile.MatchString(source) {
			f.noteSettings(path.Base(source))
		}
	}
}

// takenImages returns the images whose packages a stage takes: those that it names, and those at the bottom of the stages
// that it copies from.
func (f *dockerfile) takenImages(at int) (list []facts.Requested) {
	for _, t := range f.stages[at].taken {
		if !slices.ContainsFunc(t.sources, packagePath.MatchString) {
			continue
		}
		s := stage{image: t.from, number: t.number}
		for i := f.stageNamed(t.from, at); i >= 0; i = f.stageOf(strings.ToLower(s.image), i) {
			s = f.stages[i]
		}
		if !frameworkImage.MatchString(s.image) || cudaImage.MatchString(s.image) {
			continue
		}
		if image := f.imageOf(s); image.Name != "" {
			list = append(list, image)
		}
	}
	return list
}

// stageNamed returns the stage before another that a name or a number means, -1 where it means none.
func (f *dockerfile) stageNamed(name string, before int) int {
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < before {
		return n
	}
	return f.stageOf(strings.ToLower(name), before)
}
