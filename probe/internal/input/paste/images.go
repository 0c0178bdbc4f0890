package paste

import (
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
)

var (
	// imageHead matches the heading of a table of images or containers, of docker and podman:
	//
	//	REPOSITORY                 TAG                               IMAGE ID       CREATED        SIZE
	//	IMAGE                                             ID             DISK USAGE   CONTENT SIZE   EXTRA
	//	CONTAINER ID   IMAGE                            COMMAND   CREATED        STATUS        PORTS     NAMES
	imageHead = lazyregexp.New(`^(?:REPOSITORY +TAG +.*IMAGE ID|IMAGE +ID +DISK USAGE|CONTAINER ID +IMAGE +COMMAND)\b`)
	// cell matches one of its columns: two spaces stand between columns.
	cell = lazyregexp.New(`\S+(?: \S+)*`)
	// forGPU matches the names of images with CUDA or a framework.
	forGPU = lazyregexp.New(`(?i)nvidia|cuda|torch|tensorflow|\bjax\b|vllm|sglang|tensorrt|triton|rapids|text-generation|ollama|[-:/]gpu\b`)
)

// maxImages is how many images a message names.
const maxImages = 3

// addImages notes the images for a GPU that a table of docker or podman lists. Which of them is to run, the text does
// not say, so none is judged.
func addImages(f *facts.Facts, text string) {
	images := imagesIn(text)
	if len(images) == 0 {
		return
	}
	named := strings.Join(images[:min(len(images), maxImages)], ", ")
	if more := len(images) - maxImages; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	f.Unread = append(f.Unread, facts.Unread{Place: "the table of images", Kind: facts.UnreadNeeded,
		Reason: "it lists " + named + ", and does not say which one is to run: name it, as in `cudacompat check " + images[0] + " --gpu NAME --driver VERSION`"})
}

// imagesIn returns the images for a GPU in the tables of a text.
func imagesIn(text string) []string {
	var images []string
	column, tagged := -1, false
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimRight(line, " \r\n"), " >\t")
		cells := cell.FindAllString(line, -1)
		switch {
		case imageHead.MatchString(line):
			column, tagged = 0, strings.HasPrefix(line, "REPOSITORY")
			if strings.HasPrefix(line, "CONTAINER") {
				column = 1
			}
		case column < 0:
		case len(cells) < 3 || strings.HasPrefix(line, "$") || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "+"):
			column = -1 // the table has ended
		default:
			name := cells[column]
			if tagged {
				name += ":" + cells[1]
			}
			if forGPU.MatchString(name) && !strings.ContainsAny(name, " `<>\"'") {
				images = append(images, name)
			}
		}
	}
	return images
}
