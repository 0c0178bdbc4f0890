// Command site writes the web site into a directory.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"cudacompat/data"
	"cudacompat/internal/site"
	"cudacompat/matrix"
)

func main() {
	out := flag.String("o", "dist/site", "the `directory` to write")
	root := flag.String("root", ".", "the repository's `directory`")
	address := flag.String("site", os.Getenv("SITE"), "where the site will be: `https://…`")
	repository := flag.String("repository", os.Getenv("REPOSITORY"), "where the project is: `https://…`")
	pythons := flag.String("pythons", "", "`LIST` of Pythons beside 3.12, separated by commas: each takes as long again")
	engine := flag.String("engine", "", "the program as built for GOOS=js GOARCH=wasm, a `file`; empty: the site comes without it")
	loader := flag.String("loader", "", "the wasm_exec.js of the Go that built it, a `file`")
	flag.Parse()
	begin := time.Now()
	c := site.Config{Out: *out, Tables: matrix.Embedded(), Docs: os.DirFS(*root), Data: data.FS, Site: *address, Repository: strings.TrimSuffix(*repository, "/")}
	if *pythons != "" {
		c.Pythons = strings.Split(*pythons, ",")
	}
	if *engine != "" {
		c.Engine, c.Loader = read(*engine), read(*loader)
	}
	if err := os.RemoveAll(*out); err != nil {
		fail(err)
	}
	if err := site.Build(c); err != nil {
		fail(err)
	}
	size, err := site.Size(*out)
	if err != nil {
		fail(err)
	}
	fmt.Fprintf(os.Stderr, "%s: written in %.1f s; %d bytes without the engine\n", *out, time.Since(begin).Seconds(), size)
}

func read(name string) []byte {
	data, err := os.ReadFile(name)
	if err != nil {
		fail(err)
	}
	return data
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "site:", err)
	os.Exit(1)
}
