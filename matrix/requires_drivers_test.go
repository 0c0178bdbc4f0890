package matrix

import (
	"slices"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/model"
)

// TestCutsOfImages checks that an answer can change at every branch that an image's own requirement names.
func TestCutsOfImages(t *testing.T) {
	image := &tables.Container{Require: "cuda>=12.6,driver>=470", Brands: []string{"tesla"}, Branches: []string{"535", "550"}}
	m := &model.Machine{Requested: []*model.Requested{{}, {Image: image}}}
	var list cutList
	list.addImages(m)
	var got []int
	for _, v := range list.sorted() {
		got = append(got, v.Major())
	}
	if want := []int{470, 471, 535, 536, 550, 551}; !slices.Equal(got, want) {
		t.Errorf("branches %v, want %v", got, want)
	}
}
