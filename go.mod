module cudacompat

// The oldest that will do: os.Root, which fences strangers' trees in, has faults in earlier ones.
go 1.26.8

// What is fetched, and what releases are built with: the newest of the series.
toolchain go1.26.11

require (
	github.com/Masterminds/semver/v3 v3.5.0
	github.com/NVIDIA/go-nvml v0.13.3-1
	github.com/aquasecurity/go-pep440-version v0.0.1
	github.com/google/go-cmp v0.7.0
	github.com/klauspost/compress v1.20.3
	github.com/olekukonko/tablewriter v0.0.5 // v1 adds nine modules and 0.7 MB, and prints the same
	github.com/pelletier/go-toml/v2 v2.4.3
	github.com/rogpeppe/go-internal v1.16.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	github.com/ulikunitz/xz v0.5.17
	go.yaml.in/yaml/v4 v4.0.0
	golang.org/x/sys v0.49.0
	golang.org/x/term v0.47.0
	golang.org/x/tools v0.52.0
	mvdan.cc/sh/v3 v3.14.1
)

require github.com/yuin/goldmark v1.8.7

require (
	github.com/aquasecurity/go-version v0.0.1 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.6 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/mattn/go-runewidth v0.0.9 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	go.yaml.in/yaml/v3 v3.0.4 // indirect
	golang.org/x/text v0.14.0 // indirect
	golang.org/x/xerrors v0.0.0-20231012003039-104605ab7028 // indirect
)
