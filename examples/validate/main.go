// Command validate checks files with the libraries of Compose, BuildKit and Kubernetes themselves. It is a separate
// module because cudacompat needs none of them.
package main

import (
	"fmt"
	"os"
)

var validators = map[string]func(name string, data []byte) error{
	"compose":    compose,
	"dockerfile": dockerfile,
	"kubernetes": kubernetes,
}

func main() {
	if len(os.Args) != 3 || validators[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: validate compose|dockerfile|kubernetes FILE")
		os.Exit(64)
	}
	data, err := os.ReadFile(os.Args[2])
	if err == nil {
		err = validators[os.Args[1]](os.Args[2], data)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
