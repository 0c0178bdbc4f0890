package probe_test

import (
	"context"
	"fmt"
	"log"

	"cudacompat/probe"
)

// The tree of an image, mounted or unpacked, is looked at without running anything in it. For the machine itself, take
// probe.This() instead, and let main call probe.ServeNVML() first, so that NVML is asked in a child process.
func ExampleRun() {
	image, err := probe.Tree("testdata/image")
	if err != nil {
		log.Fatal(err)
	}
	facts := probe.Run(context.Background(), image, probe.Options{})
	fmt.Println(facts.System.OS)
	for _, env := range facts.Environments {
		for _, build := range env.Builds {
			fmt.Printf("%s %s for CUDA %s, Python %s in %s\n", build.Name, build.Version, build.CUDA, env.Python,
				env.Path)
			fmt.Println("read from", build.From)
		}
	}
	for _, p := range facts.Probes {
		if p.Status == "failed" {
			fmt.Println("could not be read:", p.Error)
		}
	}
	// Output:
	// Amazon Linux 2023.7.20250512
	// torch 2.9.0+cu130 for CUDA 13.0, Python 3.12.3 in /opt/venv
	// read from /opt/venv/lib/python3.12/site-packages/torch/version.py
}

// What a requirements file would install is read as facts, too.
func ExampleGiven() {
	facts, err := probe.Given([]byte("--index-url https://download.pytorch.org/whl/cu126\ntorch==2.9.0\n"))
	if err != nil {
		log.Fatal(err)
	}
	build := facts.Environments[0].Builds[0]
	fmt.Println(build.Name, build.Version, "named in", build.From)
	// Output:
	// torch 2.9.0+cu126 named in line 2
}
