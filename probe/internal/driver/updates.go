package driver

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
	"cudacompat/probe/internal/system"
)

// ReadUpdates finds what upgrades packages unattended, and which packages it may not touch.
func ReadUpdates(h *host.Host) (source.Update, error) {
	u, ok := unattendedUpgrades(h)
	if !ok {
		u, ok = dnfAutomatic(h)
	}
	if !ok {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Machine.Updates = u }, nil
}

// unattendedUpgrades reads apt's configuration if unattended-upgrades is installed and its timer is not masked.
func unattendedUpgrades(h *host.Host) (facts.Updates, bool) {
	if !h.Exists("/usr/bin/unattended-upgrade") || isMasked(h, "apt-daily-upgrade.timer") ||
		isMasked(h, "apt-daily-upgrade.service") {
		return facts.Updates{}, false
	}
	u := facts.Updates{Tool: "unattended-upgrades"}
	on := ""
	for _, file := range append(h.Glob("/etc/apt/apt.conf.d/*"), "/etc/apt/apt.conf") {
		c := parseAptConf(h.ReadQuietly(file))
		if v := c["APT::Periodic::Unattended-Upgrade"]; len(v) > 0 {
			on, u.From = v[len(v)-1], file
		}
		u.Origins = append(u.Origins, c["Unattended-Upgrade::Allowed-Origins"]...)
		u.Origins = append(u.Origins, c["Unattended-Upgrade::Origins-Pattern"]...)
		u.Blacklist = append(u.Blacklist, c["Unattended-Upgrade::Package-Blacklist"]...)
	}
	u.Pinned = pinFile(h)
	u.Unread = firstUnseen(h, "/etc/apt/apt.conf.d", "/etc/apt/apt.conf")
	if u.Unread != "" && (on == "" || on == "0") { // the file that switches it on may be the one that was not read
		return u, true
	}
	u.Unread = cmp.Or(u.Unread, firstUnseen(h, "/etc/apt/preferences.d", "/etc/apt/preferences"))
	return u, on != "" && on != "0"
}

// firstUnseen returns the first of some places that could not be read completely, or "".
func firstUnseen(h *host.Host, places ...string) string {
	if i := slices.IndexFunc(places, h.Unseen); i >= 0 {
		return places[i]
	}
	return ""
}

// isMasked reports whether a systemd unit is linked to /dev/null.
func isMasked(h *host.Host, unit string) bool {
	target, err := h.Readlink("/etc/systemd/system/" + unit)
	return err == nil && target == "/dev/null"
}

// pinFile returns the first apt preferences file that names NVIDIA's packages.
func pinFile(h *host.Host) string {
	for _, file := range append(h.Glob("/etc/apt/preferences.d/*"), "/etc/apt/preferences") {
		if aptPin.Match(h.ReadQuietly(file)) {
			return file
		}
	}
	return ""
}

// aptPin matches a stanza's line such as "Package: *nvidia*" or "Package: nvidia-driver-535 libnvidia-*", which names
// driver packages. The pin of NVIDIA's own repository may name nvidia-modprobe and nvidia-settings, which does not hold
// a driver.
var aptPin = lazyregexp.New(`(?m)^Package:.*(libcuda1|cuda-drivers|` +
	`nvidia([*\s:]|$|-(\*|driver|dkms|kernel|headless|utils|compute|open|ml|gl|cfg)))`)

// aptToken matches a word, a quoted string, a brace or a semicolon of apt.conf(5), but no comment.
var aptToken = lazyregexp.New(`//[^\n]*|#[^\n]*|(?s:/\*.*?\*/)|"[^"\n]*"|[{};]|[^\s{};"]+`)

// parseAptConf parses the values of each option by its full name:
//
//	APT::Periodic::Unattended-Upgrade "1";
//	Unattended-Upgrade::Allowed-Origins {
//		"${distro_id}:${distro_codename}-security";
//	//	"${distro_id}:${distro_codename}-updates";
//	};
func parseAptConf(data []byte) map[string][]string {
	values := map[string][]string{}
	var scope []string
	var words []string
	name := func() string { return strings.Join(append(slices.Clone(scope), words...), "::") }
	for _, token := range aptToken.FindAllString(string(data), -1) {
		switch {
		case strings.HasPrefix(token, "//"), strings.HasPrefix(token, "#"), strings.HasPrefix(token, "/*"):
		case token == "{":
			scope, words = append(scope, strings.Join(words, "::")), nil
		case token == "}":
			if len(scope) > 0 {
				scope = scope[:len(scope)-1]
			}
			words = nil
		case token == ";":
			words = nil
		case token[0] == '"':
			key := name()
			values[key] = append(values[key], strings.Trim(token, `"`))
		default:
			words = append(words, strings.Trim(token, ":"))
		}
	}
	return values
}

// dnfTimers lists the units that start dnf-automatic. The second one applies updates whatever the configuration says.
var dnfTimers = []struct {
	unit    string
	applies bool
}{{"dnf-automatic.timer", false}, {"dnf-automatic-install.timer", true}, {"dnf5-automatic.timer", false}}

// dnfAutomatic reads dnf's configuration if one of its timers is enabled.
func dnfAutomatic(h *host.Host) (facts.Updates, bool) {
	const conf = "/etc/dnf/automatic.conf"
	u := facts.Updates{Tool: "dnf-automatic", From: conf}
	enabled, applies := false, isYes(host.ParseINI(h.ReadQuietly(conf))["commands.apply_updates"])
	for _, timer := range dnfTimers {
		if nameExists(h, "/etc/systemd/system/timers.target.wants/"+timer.unit) && !isMasked(h, timer.unit) {
			enabled, applies = true, applies || timer.applies
		}
	}
	if !enabled || !applies {
		return u, false
	}
	u.Blacklist = append(u.Blacklist,
		strings.Fields(stripComments(h.ReadQuietly("/etc/dnf/plugins/versionlock.list")))...)
	for _, m := range dnf5Lock.FindAllSubmatch(h.ReadQuietly("/etc/dnf/versionlock.toml"), -1) {
		u.Blacklist = append(u.Blacklist, string(m[1]))
	}
	main := host.ParseINI(h.ReadQuietly("/etc/dnf/dnf.conf"))
	u.Blacklist = append(u.Blacklist, splitList(main["main.exclude"])...)
	u.Blacklist = append(u.Blacklist, splitList(main["main.excludepkgs"])...)
	u.Repos = driverRepos(h)
	u.Unread = firstUnseen(h, "/etc/dnf", "/etc/yum.repos.d")
	return u, true
}

// dnf5Lock matches a line of dnf 5's version locks: name = "nvidia-driver-cuda".
var dnf5Lock = lazyregexp.New(`(?m)^\s*name\s*=\s*["']([^"'\n]+)["']`)

// nameExists reports whether a name exists, even as a dangling link.
func nameExists(h *host.Host, name string) bool {
	_, err := h.Readlink(name)
	return err == nil
}

// driverRepos lists the enabled repositories with NVIDIA's driver, by the names of their files and sections. A
// repository that is fixed to the release brings nothing new and is left out.
func driverRepos(h *host.Host) []string {
	var repos []string
	still := releaseLocked(h)
	for _, file := range h.Glob("/etc/yum.repos.d/*.repo") {
		values := host.ParseINI(h.ReadQuietly(file))
		for key, url := range values {
			section, isURL := strings.CutSuffix(key, ".baseurl")
			if !isURL {
				section, isURL = strings.CutSuffix(key, ".mirrorlist")
			}
			on := values[section+".enabled"]
			if still && strings.Contains(url, "releasever") {
				continue
			}
			if isURL && strings.Contains(strings.ToLower(section+url), "nvidia") && (on == "" || isYes(on)) &&
				!strings.Contains(url, "libnvidia-container") {
				repos = append(repos, path.Base(file)+" ["+section+"]")
			}
		}
	}
	slices.Sort(repos)
	return repos
}

// releaseLocked reports whether $releasever is one dated release. Amazon Linux does this from 2023 on unless somebody
// changes it; the content of such a release's repositories never changes
// (https://docs.aws.amazon.com/linux/al2023/ug/deterministic-upgrades-usage.html).
func releaseLocked(h *host.Host) bool {
	pretty, id, _ := system.ParseOSRelease(h.ReadQuietly("/etc/os-release"))
	override, _ := h.ReadLine("/etc/dnf/vars/releasever")
	dated := strings.HasPrefix(pretty, "Amazon Linux 20") // and not 2
	return id == "amzn" && dated && strings.Contains(pretty, override)
}

// isYes reports whether a value of dnf's configuration means true.
func isYes(value string) bool {
	return slices.Contains([]string{"1", "yes", "true", "on"}, strings.ToLower(value))
}

// splitList splits a value of dnf's configuration into its items.
func splitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}

// stripComments removes what follows a # in each line.
func stripComments(data []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		text, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "#")
		b.WriteString(text + "\n")
	}
	return b.String()
}
