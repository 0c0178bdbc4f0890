package matrix

import (
	"slices"
	"testing"

	"cudacompat/internal/tables"
	"cudacompat/matrix/internal/model"
)

// TestCutsOfImages: an answer can change at every branch that an image's own requirement names.
func TestCutsOfImages(t *testing.T) {
	image := &tables.Container{Require: "cuda>=12.6", Brands: []string{"tesla"}, Branches: []string{"535", "550"}}
	m := &model.Machine{RequestedPackages: []*model.RequestedPackage{{}, {Image: image}}}
	var got []int
	imageCuts(m, func(branch int) { got = append(got, branch) })
	if want := []int{535, 536, 550, 551}; !slices.Equal(got, want) {
		t.Errorf("branches %v, want %v", got, want)
	}
}
