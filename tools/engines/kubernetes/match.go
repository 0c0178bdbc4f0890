package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/yaml"
)

// match reads affinities of pods and prints, for each file and each line of labels of a node on standard input, whether
// the scheduler lets the pod go there: "FILE LINE true". It is the matcher that kube-scheduler itself calls.
func match(files []string) error {
	var nodes []*v1.Node
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		labels := map[string]string{}
		if err := json.Unmarshal(lines.Bytes(), &labels); err != nil {
			return err
		}
		nodes = append(nodes, &v1.Node{ObjectMeta: meta.ObjectMeta{Labels: labels}})
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var affinity v1.Affinity
		if err := yaml.UnmarshalStrict(text, &affinity); err != nil {
			return fmt.Errorf("%s: %v", file, err)
		}
		selector, err := nodeaffinity.NewNodeSelector(
			affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		if err != nil {
			return fmt.Errorf("%s: %v", file, err)
		}
		for i, node := range nodes {
			fmt.Println(filepath.Base(file), i, selector.Match(node))
		}
	}
	return nil
}
