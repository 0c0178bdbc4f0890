package installer

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

var (
	// ShellProgram matches shells that read a script from a file or from their input.
	ShellProgram = lazyregexp.New(`^(?:ba|da|z|a|k)?sh$`)
	// scriptName matches programs that are started by a path, and files whose names say that they are scripts.
	scriptName = lazyregexp.New(`^(?:\.{1,2}/[\w./-]+|[\w./${}~-]+\.(?:sh|bash))$`)
	shellFile  = lazyregexp.New(`\.(?:sh|bash)$`)
	// installerFile matches the names of programs that say that they install something.
	installerFile = lazyregexp.New(`(?i)install|set-?up|bootstrap|provision|requirements|(?:^|[-_.])deps?(?:$|[-_.])|dependencies`)
	// selfExtractor matches NVIDIA's installers of the toolkit and similar archives that are shell scripts.
	selfExtractor = lazyregexp.New(`\.(?:run|bin|bsx)$`)
	// toolInstaller matches the scripts that install or build one tool which brings no package for the GPU.
	toolInstaller = lazyregexp.New(`(?i)^(?:mini(?:conda|forge|mamba)|mambaforge|micromamba|anaconda|cmake-|conda|rustup|sh\.rustup|node(?:source|js)?[-_.]|` +
		`get-(?:docker|helm|pip)|nvm|install[-_](?:nvm|poetry|cmake|conda|miniconda|miniforge|node|nodejs|rust|go|golang|docker|git|ninja|bazel|ucx|openmpi|mpi|` +
		`hdf5|ffmpeg|opencv|nccl|cudnn|tensorrt|gcc|clang|llvm|protobuf|vim|zsh|openssl|sys(?:tem)?[-_]deps)|bazel-|pyenv|sdkman|julia|gradlew|mvnw|` +
		`wait-for|configure|config|buildconf|autogen|bootstrap\.sh|b2$|activate$|oh-?my-?zsh|homebrew|google-cloud-sdk|awscli|aws$|install-tl)`)
	// toolPath matches directories of tools that bring an installer of their own.
	toolPath = lazyregexp.New(`(?:^|/)(?:google-cloud-sdk|aws(?:cli)?|\.?nvm|\.pyenv|\.sdkman|emsdk|vcpkg)/`)
	// settingsScript matches the scripts that are sourced for the variables that they set.
	settingsScript = lazyregexp.New(`(?:^|/)(?:[\w-]*(?:conda|mamba|nvm|sdkman|env|environment|vars|profile|activate|bashrc|completion|thisroot|aliases|export)[\w-]*\.(?:ba)?sh)$|` +
		`^/etc/|(?:^|/)(?:ros|install|devel)/(?:\w+/)?(?:local_)?setup\.(?:ba)?sh$|/\.[\w.-]+$`)
	// wrapperName matches programs that start the one that their words name.
	wrapperName = lazyregexp.New(`^(?:timeout|nohup|gosu|su-exec|doas|setpriv|stdbuf|ionice|retry|xvfb-run|unbuffer|eatmydata|fakeroot|linux(?:32|64)|` +
		`tini|dumb-init|chronic|ts|catchsegv|setsid|chrt|taskset|busybox)$`)
	// wrapperValue matches what stands between such a program and the one that it starts.
	wrapperValue = lazyregexp.New(`^(?:\d[\d.,-]*[smhd]?|[a-z_][\w-]*:[\w-]+)$`)
)

// FindScript returns the script that a command starts: bash install.sh, ./install.sh, . install.sh.
func FindScript(list []string) Tool {
	if i := slices.IndexFunc(list, GPUScript.MatchString); i >= 0 {
		return Tool{Does: MayInstall, Command: list[i], Reason: byProgram}
	}
	if t := manyScripts(list); t.Does != Nothing {
		return t
	}
	started := "" // the shell or Python before the script
	for i, word := range list {
		name := path.Base(word)
		switch {
		case started != "" && CommandOption.MatchString(word), started == "sh" && word == "-s":
			return Tool{}
		case name == "." || name == "source":
			started = "."
		case slices.Contains(Starters, name), strings.HasPrefix(word, "-"), i > 0 && word == "pipefail",
			assignment.MatchString(word), wrapperName.MatchString(name), i > 0 && started == "" && wrapperValue.MatchString(word):
		case started == "" && ShellProgram.MatchString(name):
			started = "sh"
		case started == "" && PythonName.MatchString(name):
			started = "python"
		default:
			return scriptOf(word, started)
		}
	}
	return Tool{}
}

// manyScripts returns the scripts that a command starts whose names stand elsewhere: find -exec sh, xargs bash, run-parts.
func manyScripts(list []string) Tool {
	at := FindProgram(list)
	if at == len(list) {
		return Tool{}
	}
	text := strings.Join(list[at:], " ")
	switch name := path.Base(list[at]); {
	case name == "run-parts" && !strings.Contains(text, "/etc/"),
		(name == "xargs" || name == "parallel" || name == "find") && startsShell.MatchString(text):
		return Tool{Does: MayInstall, Command: text, Reason: ByHidden, Script: true}
	}
	return Tool{}
}

// startsShell matches a shell that find or xargs starts without a script on its command line.
var startsShell = lazyregexp.New(`(?:^xargs|^parallel|-exec(?:dir)?|-ok)\b.*[\s/](?:ba|da)?sh(?:$|\s+(?:\{|[^-]|-[^c]*(?:\s|$)))|-exec(?:dir)?\s+\{\}\s`)

// scriptOf returns a file that a shell or Python reads, or that is a program itself.
func scriptOf(word, started string) Tool {
	t := Tool{Does: MayInstall, Command: word, Reason: byProgram}
	name := path.Base(word)
	installs := installerFile.MatchString(name)
	switch {
	case started == "python" && PyScript.MatchString(word), started == "python" && installs && name != "setup.py" && path.Ext(name) == ".py" && !toolInstaller.MatchString(name):
		t.Script = installs
	case strings.ContainsAny(word, "(`"): // what another command prints
		return Tool{}
	case started == "python", selfExtractor.MatchString(name), toolInstaller.MatchString(name), toolPath.MatchString(word):
		return Tool{}
	case started == "." && (settingsScript.MatchString(word) || !shellFile.MatchString(name)):
		return Tool{}
	case started != "":
		t.Script = true
	case scriptName.MatchString(word):
		t.Script = installs || shellFile.MatchString(name)
	case strings.Contains(word, "/") && installs:
		t.Script = true
	default:
		return Tool{}
	}
	if t.Script {
		t.Reason = ByHidden
	}
	return t
}
