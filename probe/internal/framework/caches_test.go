package framework

import (
	"errors"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestCaches checks both caches, with both of FlashInfer's layouts. Copies of one extension count together, and a
// variable may move the cache of a running machine.
func TestCaches(t *testing.T) {
	root := t.TempDir()
	library := func(name string, capability int) hosttest.Library {
		return hosttest.Library{Name: name, Source: fatSource(capability)}
	}
	hosttest.Compile(t, root,
		library("root/.cache/torch_extensions/py312_cu128/fused_adam/fused_adam.so", 80),
		library("home/ada/.cache/flashinfer/0.7.2/90a/cached_ops/norm/norm.so", 90),
		library("home/ada/.cache/flashinfer/89/cached_ops/norm/norm.so", 89),
		hosttest.Library{Name: "home/ada/.cache/torch_extensions/py312_cu128/plain/plain.so", Source: "int x;\n"},
		library("srv/cache/transformer/transformer.so", 75))
	check := func(name string, h *host.Host, want ...facts.Cache) {
		t.Helper()
		got, err := Caches(h)
		hosttest.Must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	check("a tree", &host.Host{Root: root, Rest: true},
		facts.Cache{Of: "torch", Name: "fused_adam", Path: "/root/.cache/torch_extensions", SASS: []string{"sm_80"},
			PTX: []string{"compute_80"}},
		facts.Cache{Of: "FlashInfer", Name: "norm", Path: "/home/ada/.cache/flashinfer",
			SASS: []string{"sm_89", "sm_90"}, PTX: []string{"compute_89", "compute_90"}})
	variables := map[string]string{"HOME": "/root", "TORCH_EXTENSIONS_DIR": "/srv/cache"}
	check("a variable", &host.Host{Root: root, Env: variables},
		facts.Cache{Of: "torch", Name: "transformer", Path: "/srv/cache", SASS: []string{"sm_75"},
			PTX: []string{"compute_75"}})
	if list, err := Caches(&host.Host{Root: t.TempDir(), Rest: true}); len(list) > 0 || !errors.Is(err, host.ErrAbsent) {
		t.Errorf("nothing there: %v, %v", list, err)
	}
}
