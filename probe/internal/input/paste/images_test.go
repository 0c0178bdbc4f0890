package paste

import (
	"slices"
	"testing"
)

func TestImagesIn(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"docker images": {"$ docker images\n" +
			"REPOSITORY        TAG                            IMAGE ID       CREATED        SIZE\n" +
			"pytorch/pytorch   2.9.0-cuda13.0-cudnn9-runtime  1f2a3b4c5d6e   3 weeks ago    7.9GB\n" +
			"postgres          16                             aa11bb22cc33   18 months ago  239MB\n" +
			"nvidia/cuda       12.4.1-base-ubuntu22.04        aa11bb22cc33   18 months ago  239MB\n" +
			"$ nvidia-smi\n| 0  NVIDIA L4   Off |\n", []string{"pytorch/pytorch:2.9.0-cuda13.0-cudnn9-runtime", "nvidia/cuda:12.4.1-base-ubuntu22.04"}},
		"docker images since 29": {"IMAGE                            ID             DISK USAGE   CONTENT SIZE   EXTRA\n" +
			"vllm/vllm-openai:v0.11.0         1f2a3b4c5d6e   30GB         12GB           U\n", []string{"vllm/vllm-openai:v0.11.0"}},
		"docker ps": {"CONTAINER ID   IMAGE                                COMMAND    CREATED       STATUS       PORTS   NAMES\n" +
			"1f2a3b4c5d6e   nvcr.io/nvidia/pytorch:25.09-py3     \"bash\"     2 hours ago   Up 2 hours           trainer\n", []string{"nvcr.io/nvidia/pytorch:25.09-py3"}},
		"images without a GPU": {"REPOSITORY   TAG   IMAGE ID       CREATED       SIZE\npostgres     16    aa11bb22cc33   3 weeks ago   239MB\n", nil},
		"no table":             {"The image pytorch/pytorch:2.9.0 is in the REPOSITORY\n", nil},
	} {
		if got := imagesIn(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
