package python

import (
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
)

func TestJAXWithCUDAInside(t *testing.T) {
	h := hosttest.Tree(t, "-- srv/v/jaxlib-0.4.23+cuda12.cudnn89.dist-info/METADATA --\n"+
		"Version: 0.4.23+cuda12.cudnn89\n")
	var failed host.Errors
	b, err := jaxBuild(h, &site{dir: "/srv/v", dists: distributions(h, "/srv/v", &failed)})
	if err != nil || len(failed) > 0 || b.Accelerator != "cuda" || b.CUDA != "12" || b.CuDNN != "8.9" ||
		b.Version != "0.4.23+cuda12.cudnn89" {
		t.Errorf("got %+v, %v, %v", b, err, failed)
	}
}
