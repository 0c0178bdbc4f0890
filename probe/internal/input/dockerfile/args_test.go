package dockerfile

import (
	"slices"
	"testing"
)

// TestGlobalArgs reads the ARGs before the first FROM, and which of them a FROM names.
func TestGlobalArgs(t *testing.T) {
	const text = "ARG CUDA=\"12.6.3\" \\\n  OS=ubuntu24.04\narg UNSET\nARG A=1\nARG A=2\n" +
		"FROM --platform=$A nvidia/cuda:${CUDA}-base-$OS AS base\nARG LATER=1\nFROM base\n"
	want := []Arg{{"CUDA", "12.6.3", true}, {"OS", "ubuntu24.04", true}, {"A", "2", true}}
	if got := GlobalArgs([]byte(text)); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := GlobalArgs([]byte("ARG CUDA=12\nFROM ubuntu\nARG CUDA\nRUN echo $CUDA\n")); len(got) != 1 || got[0].InFrom {
		t.Errorf("%v: no FROM names CUDA", got)
	}
}
