package framework

import (
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
)

func TestJAXWithCUDAInside(t *testing.T) {
	h := hosttest.Tree(t, "-- srv/v/jaxlib-0.4.23+cuda12.cudnn89.dist-info/METADATA --\n"+
		"Version: 0.4.23+cuda12.cudnn89\n")
	var failed host.Errors
	b, err := jaxBuild(h, &pyenv.Site{Dir: "/srv/v", Dists: pydist.NewIndex(h, nil).Companions("/srv/v", &failed)})
	if err != nil || len(failed) > 0 || b.Accelerator != "cuda" || b.CUDA != "12" || b.CuDNN != "8.9" ||
		b.Version != "0.4.23+cuda12.cudnn89" {
		t.Errorf("got %+v, %v, %v", b, err, failed)
	}
}

// TestOtherJaxlib checks jaxlib 0.9.0 inside and outside the range that jax requires. Requirements of an extra do not
// count.
func TestOtherJaxlib(t *testing.T) {
	for requires, want := range map[string]string{
		"jaxlib<=0.9.0,>=0.9.0":                "",
		"jaxlib<=0.9.0,>=0.8.2":                "",
		"jaxlib (<=0.9.0,>=0.9.0)":             "",
		"jaxlib<=0.8.2,>=0.8.2; extra == 'ci'": "",
		"jaxlib<=0.8.2,>=0.8.0":                "jaxlib<=0.8.2,>=0.8.0",
		"jaxlib<=0.9.1,>=0.9.1\nRequires-Dist: jaxlib==0.9.0; extra == 'x'": "jaxlib<=0.9.1,>=0.9.1",
	} {
		h := hosttest.Tree(t, "-- srv/v/jaxlib-0.9.0.dist-info/METADATA --\nName: jaxlib\nVersion: 0.9.0\n"+
			"-- srv/v/jax_cuda12_plugin-0.9.0.dist-info/METADATA --\nName: jax-cuda12-plugin\nVersion: 0.9.0\n"+
			"-- srv/v/jax-0.9.0.dist-info/METADATA --\nName: jax\nVersion: 0.9.0\nRequires-Dist: "+requires+"\n")
		var failed host.Errors
		b, _ := jaxBuild(h, &pyenv.Site{Dir: "/srv/v", Path: []string{"/srv/v"}, Dists: pydist.NewIndex(h, nil).Companions("/srv/v", &failed)})
		got := ""
		for _, x := range b.Hindrances {
			got += x.By
		}
		if got != want {
			t.Errorf("%s: %q, want %q", requires, got, want)
		}
	}
}
