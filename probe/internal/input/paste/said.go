package paste

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/collectenv"
	"cudacompat/probe/internal/input/request"
)

// Where a text holds no report and no table, its sentences may still name the machine:
//
//	Windows 11, RTX 5090, driver 576.88
//	I have just installed the Studio driver (596.36-desktop-win10-win11-64bit-international-nsd-dch-whql).
//
// A sentence is read only if all sentences of the text name the same GPU, or the same driver: two may be of two machines.

var (
	// saidGPU matches the name of a GPU for PCs and workstations anywhere in a line, and of one for data centres that
	// NVIDIA's name stands before.
	saidGPU = lazyregexp.New(`(?i)\b(?:NVIDIA )?(?:GeForce )?((?:RTX|GTX)[ -]?(?:PRO )?\d{3,4}(?:[ -]?(?:Ti|SUPER)\b)*(?: Ada(?: Generation)?)?(?: Laptop(?: GPU)?| Max-Q)?|` +
		`GT \d{3,4}M?|NVS \d{3}|Quadro (?:RTX )?[A-Z]{0,2}\d{3,4}|Tesla [A-Z]\d{1,3})\b|\bNVIDIA ([ABHLPTV]\d{2,3}[A-Z]?)\b`)
	// saidDriver matches the number of a driver behind its name, or in the name of NVIDIA's installer for Windows.
	saidDriver = lazyregexp.New(`(?i)\bdrivers?(?: versions?)?(?: is| was)?[\s:=*v]{1,4}(\d{3}\.\d{2,3}(?:\.\d{2})?)\b(.{0,12})|\b(\d{3}\.\d{2})-(?:desktop|notebook)-win`)
	// wantedDriver matches words around a driver that is needed, and may not be there.
	wantedDriver = lazyregexp.New(`(?i)(?:>=?|≥|require[sd]?|needs?|at least|minimum|must be|update to|upgrade to|newer than|older than|before|than)\W*(?:\w+\W+){0,3}$`)
	orNewer      = lazyregexp.New(`(?i)^(?:\+|\s*(?:or|and) (?:newer|later|higher|above|up))`)
	// saidWheel matches the file name of a wheel, whole or without its ending.
	saidWheel = lazyregexp.New(`\b([A-Za-z][A-Za-z0-9_]*)-(\d[\w.]*(?:(?:\+|%2B)[\w.]+)?)-(?:cp|py)\d\w*-\w+-(\w+)(?:\.whl)?\b`)
	// laptopOf is what people leave out of a GPU's name.
	laptopOf = lazyregexp.New(`(?i) laptop(?: gpu)?$| max-q$`)
)

var (
	// windowsSigns matches what only a text that was written on Windows holds: its paths, compiler, wheels and errors, its
	// tools' words, and its name as an item of its own.
	windowsSigns = lazyregexp.New(`\b[A-Za-z]:[\\/](?:Users|Windows|Program|\w+\\)|\[MSC v\.|\bon win32\b|\bwin_amd64\b|\[WinError \d|-desktop-win1|` +
		`(?im:^[\s>*-]*(?:OS(?: Name)?\**:\**\s*)?(?:Microsoft )?Windows (?:10|11|Server)\b)|(?i:\b(?:on|this is|a) win(?:dows )?\s?1[01]\b|\bon windows\b)`)
	// linuxSigns matches what a text of Linux, or of WSL2, holds.
	linuxSigns = lazyregexp.New(`\bWSL|/(?:usr|home|opt|mnt|root|etc)/|\blinux_|manylinux|\bUbuntu\b|\bDebian\b|\bLinux\b`)
	// wslSigns matches what only WSL2 has: its kernel, and the directory of Windows' own libcuda.
	wslSigns = lazyregexp.New(`microsoft-standard-WSL2|/usr/lib/wsl/`)
)

// said is what the sentences of a text name.
type said struct {
	gpu, driver string
	wheels      []request.Package
}

// readSaid reads the sentences of a text.
func readSaid(text string) said {
	return said{gpu: onlyGPU(text), driver: onlyDriver(text), wheels: saidWheels(text)}
}

// onlyGPU returns the GPU that a text names, if it names one; of two names for it, the longer.
func onlyGPU(text string) string {
	only, key := "", ""
	for _, m := range saidGPU.FindAllStringSubmatch(text, 100) {
		name := m[1] + m[2]
		bare := laptopOf.ReplaceAllString(strings.ToLower(name), "")
		bare = strings.NewReplacer(" ", "", "-", "").Replace(bare)
		if key != "" && bare != key {
			return ""
		}
		if key = bare; len(name) > len(only) {
			only = name
		}
	}
	return only
}

// onlyDriver returns the driver that a text names, if it names one and does not ask for it.
func onlyDriver(text string) string {
	only := ""
	for _, at := range saidDriver.FindAllStringSubmatchIndex(text, 100) {
		number, rest := group(text, at, 1)+group(text, at, 3), group(text, at, 2)
		before := text[max(0, at[0]-40):at[0]]
		if i := strings.LastIndexByte(before, '\n'); i >= 0 {
			before = before[i+1:]
		}
		if wantedDriver.MatchString(before) || orNewer.MatchString(rest) {
			continue
		}
		if only != "" && only != number {
			return ""
		}
		only = number
	}
	return only
}

// group returns one group of a match by its indexes; empty where it took no part.
func group(text string, at []int, n int) string {
	if at[2*n] < 0 {
		return ""
	}
	return text[at[2*n]:at[2*n+1]]
}

// saidWheels returns the packages whose wheels a text names, without those that it names in two releases.
func saidWheels(text string) []request.Package {
	releases := map[string]string{}
	var list []request.Package
	for _, m := range saidWheel.FindAllStringSubmatch(text, 200) {
		name, release := distname.Normal(m[1]), strings.Replace(m[2], "%2B", "+", 1)
		if !distname.Reported.Match(name) && !distname.Companions.Match(name) && !isFramework(name) {
			continue
		}
		other, met := releases[name]
		switch {
		case !met:
			p := request.New(name, release, "", nil)
			p.From = collectenv.From
			list = append(list, p)
			releases[name] = release
		case other != release:
			releases[name] = ""
		}
	}
	return slices.DeleteFunc(list, func(p request.Package) bool { return releases[p.Name] == "" })
}

// addSaid adds what the sentences of a text tell of a machine of which no report and no table does.
func addSaid(f *facts.Facts, text string) {
	addSystem(f, text)
	if len(f.Probes) > 0 {
		return
	}
	s := readSaid(text)
	if !hasFramework(f) && len(s.wheels) > 0 {
		addPackages(f, []facts.Environment{request.Environment("", s.wheels)})
	}
	if !hasFramework(f) {
		return
	}
	if s.gpu != "" && len(f.GPUs) == 0 {
		f.GPUs = []facts.GPU{{Name: s.gpu, From: []string{saidFrom}}}
	}
	if s.driver != "" && f.Driver.Version == "" {
		f.Driver.Version, f.Driver.From = s.driver, saidFrom
	}
}

// saidFrom is where facts of sentences come from.
const saidFrom = "the text"

// addSystem adds the system that the signs in a text tell, where no line of a report does.
func addSystem(f *facts.Facts, text string) {
	switch {
	case f.System.WSL || f.System.Jetson || f.System.Windows():
	case wslSigns.MatchString(text):
		f.System.WSL = true
	case f.System.OS == "" && f.System.Libc == "" && windowsSigns.MatchString(text) && !linuxSigns.MatchString(text):
		f.System.OS = facts.Windows
	}
}

// tellsSaid reports whether sentences name a build and the machine that it is for.
func tellsSaid(text string) bool {
	s := readSaid(text)
	return (s.gpu != "" || s.driver != "") && len(saidPackages(text))+len(s.wheels) > 0
}

// onGPU matches a value that PyTorch printed from a GPU: printing one runs kernels there.
var onGPU = lazyregexp.New(`tensor\(.{0,200}\], device='cuda(?::\d+)?'`)
