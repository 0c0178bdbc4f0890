package libversion

import (
	"fmt"
	"path"

	"cudacompat/internal/ldso"
	"cudacompat/probe/host"
)

// CuDNNNumbers are the names under which cuDNN's parts export the version that they compare with one another,
// 0x090a02 is 9.10.2 (wheels nvidia-cudnn-cu11 8.5.0.96, nvidia-cudnn-cu12 8.9.2.26, 9.1.0.70, 9.10.2.21, 9.28.0.42).
var CuDNNNumbers = []string{"cudnn_graph_version", "cudnn_ops_infer_version", "cudnn_adv_infer_version",
	"cudnn_cnn_infer_version", "cudnn_ops_train_version"}

// cudnnTellers are the parts that are read if a cuDNN library itself has no version: the front library, libcudnn.so.9,
// and the parts without a number.
var cudnnTellers = []string{"libcudnn_graph.so.9", "libcudnn_ops_infer.so.8"}

// CuDNN reads the version of a cuDNN library, from it or from those beside it, or returns "".
func CuDNN(t ldso.FS, name string) (string, error) {
	names := []string{name}
	for _, teller := range cudnnTellers {
		names = append(names, path.Join(path.Dir(name), teller))
	}
	for _, name := range names {
		if version, err := cudnnNumber(t, name); version != "" || err != nil && !host.Absent(err) {
			return version, err
		}
	}
	return "", nil
}

func cudnnNumber(t ldso.FS, name string) (string, error) {
	f, err := t.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for _, symbol := range CuDNNNumbers {
		n, ok, err := ldso.Number(f, symbol)
		if err != nil {
			return "", host.Damaged(name, err.Error())
		}
		if ok {
			return fmt.Sprintf("%d.%d.%d", n>>16, n>>8&0xff, n&0xff), nil
		}
	}
	return "", nil
}
