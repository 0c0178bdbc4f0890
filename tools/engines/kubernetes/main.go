// Command kubernetes writes node labels with the code of their real authors: "gfd" those of GPU feature discovery,
// "nfd" those that Node Feature Discovery's local source reads from feature files. "match" asks the scheduler's matcher
// where pods may run. GPU feature discovery's labellers are internal to NVIDIA's device plugin, so the path of this
// module is below the plugin's. The module also names the programs that kubernetes.sh builds. Their sources come from
// the module proxy.
package main

import (
	"fmt"
	"os"
)

func main() {
	commands := map[string]func(args []string) error{"gfd": gfd, "nfd": nfd, "match": match}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: kubernetes gfd|nfd|match FILE...")
		os.Exit(64)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		os.Exit(1)
	}
}
