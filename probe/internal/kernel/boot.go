// Package kernel reads which Linux kernels are installed, which one boots next, whether the kernel enforces module
// signatures, and what the kernel log says about NVIDIA's driver.
package kernel

import (
	"bufio"
	"bytes"
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// ReadBoot lists the installed kernels and finds the one that the boot loader starts by default.
func ReadBoot(h *host.Host) (source.Update, error) {
	kernels := installedKernels(h)
	if len(kernels) == 0 {
		return nil, host.ErrAbsent
	}
	boot := defaultEntry(h, kernels)
	return func(f *facts.Facts) {
		f.Machine.Kernels, f.Machine.Boot, f.Machine.BootFrom = kernels, boot.kernel(kernels), boot.from
	}, nil
}

// Default returns the kernel that the boot loader starts by default, or the newest if that cannot be determined.
func Default(h *host.Host) string {
	kernels := installedKernels(h)
	if len(kernels) == 0 {
		return ""
	}
	return cmp.Or(defaultEntry(h, kernels).kernel(kernels), slices.MaxFunc(kernels, compareVersions))
}

// installedKernels lists the kernels with an image. A directory under /lib/modules alone proves no kernel, because DKMS
// and header packages leave theirs behind. If no kernel has an image in /boot, as in the tree of a container host, the
// modules that come with a kernel count.
func installedKernels(h *host.Host) []string {
	entries, _ := h.ReadDir("/lib/modules")
	var images, modules []string
	for _, e := range entries {
		dir := path.Join("/lib/modules", e.Name())
		if h.Exists("/boot/vmlinuz-"+e.Name()) || h.Exists(path.Join(dir, "vmlinuz")) {
			images = append(images, e.Name())
		} else if h.Exists(path.Join(dir, "modules.builtin")) || h.Exists(path.Join(dir, "kernel")) {
			modules = append(modules, e.Name())
		}
	}
	if len(images) > 0 {
		return images
	}
	return modules
}

// defaultEntry returns the boot loader's default entry. If both GRUB and systemd-boot are installed, the firmware
// chooses between them, so it returns an entry only if they agree on the kernel. It returns the zero entry for a rescue
// image, another system, or a choice that it cannot follow.
func defaultEntry(h *host.Host, installed []string) bootEntry {
	grub, grubThere := grubDefaultEntry(h)
	systemd, systemdThere := systemdBootEntry(h)
	differ := grubThere && systemdThere && grub.kernel(installed) != systemd.kernel(installed)
	if !grubThere {
		grub = systemd
	}
	if differ || grub.kernel(installed) == "" {
		return bootEntry{}
	}
	return grub
}

// grubDefaultEntry returns the entry that GRUB starts, and whether GRUB is there. The entry may come from a Boot Loader
// Specification file.
func grubDefaultEntry(h *host.Host) (entry bootEntry, there bool) {
	for _, dir := range []string{"/boot/grub", "/boot/grub2"} {
		cfg, env := h.ReadQuietly(dir+"/grub.cfg"), h.ReadQuietly(dir+"/grubenv")
		if cfg == nil && env == nil {
			continue
		}
		entries := grubEntries(h)
		menu := grubMenu{entries: entries, chosen: "${saved_entry}"}
		if cfg != nil {
			menu = parseGrubMenu(cfg, entries)
		}
		chosen := menu.bootedEntry(parseGrubEnv(env))
		if chosen == nil {
			return bootEntry{}, true
		}
		chosen.from = cmp.Or(chosen.from, dir+"/grub.cfg")
		return chosen.bootEntry, true
	}
	return bootEntry{}, false
}

// grubEntries returns the boot loader entries in the order of GRUB's blscfg command: by the versions in their file
// names, newest first.
func grubEntries(h *host.Host) []*grubEntry {
	var entries []*grubEntry
	for _, e := range loaderEntries(h, "/boot") {
		entries = append(entries, &grubEntry{bootEntry: e})
	}
	slices.SortFunc(entries, func(a, b *grubEntry) int { return compareVersions(b.id, a.id) })
	return entries
}

// parseGrubEnv parses GRUB's environment block of NAME=VALUE lines:
//
//	# GRUB Environment Block
//	saved_entry=ec2a7d6e2b1f4c0d9d0c2b5a8e1f7a31-6.1.141-155.222.amzn2023.x86_64
//	####…
func parseGrubEnv(data []byte) map[string]string {
	env := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(line, "#") {
			env[name] = value
		}
	}
	return env
}

// kernelNames returns the kernel releases that an image's path may mean: "6.8.0-1021-aws" for
// "/boot/vmlinuz-6.8.0-1021-aws" and for "/<machine or system>/6.8.0-1021-aws/linux".
func kernelNames(image string) []string {
	dir, base := path.Split(image)
	return []string{strings.TrimPrefix(base, "vmlinuz-"), path.Base(dir)}
}

// grubMenu holds the entries of a grub.cfg and the one it chooses.
type grubMenu struct {
	entries []*grubEntry
	chosen  string // the value of the last `set default=`, "0" or "${saved_entry}"
}

// grubEntry is a menu entry, or a submenu with entries of its own.
type grubEntry struct {
	bootEntry
	entries []*grubEntry
}

var (
	grubEntryLine = lazyregexp.New(`^(menuentry|submenu)\s+(?:'([^']*)'|"([^"]*)"|(\S+))(.*)\{$`)
	grubID        = lazyregexp.New(`\$menuentry_id_option\s+'([^']*)'|--id[ =]'?([^' ]+)`)
	grubDefault   = lazyregexp.New(`^set default="?([^"]*)"?$`)
)

// parseGrubMenu parses the menu that grub-mkconfig writes:
//
//	   set default="0"
//	menuentry 'Ubuntu' --class ubuntu … $menuentry_id_option 'gnulinux-simple-5f3c' {
//		linux	/boot/vmlinuz-6.8.0-1021-aws root=PARTUUID=… ro console=tty1
//	}
//	submenu 'Advanced options for Ubuntu' $menuentry_id_option 'gnulinux-advanced-5f3c' {
//
// The command blscfg stands for the boot loader entries.
func parseGrubMenu(data []byte, loaderEntries []*grubEntry) grubMenu {
	var menu grubMenu
	root := &grubEntry{}
	open := []*grubEntry{root} // entries and other blocks that are open, the innermost last
	counting := 0              // conditions that are open, from the one that counts failed boots on
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		last := open[len(open)-1]
		switch m := grubEntryLine.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "if ") && (counting > 0 || strings.Contains(line, "${boot_counter}")):
			counting++ // Red Hat's 08_fallback_counting: what it sets is for when the new system did not start
		case counting > 0:
			if line == "fi" {
				counting--
			}
		case m != nil:
			entry := &grubEntry{bootEntry: bootEntry{title: m[2] + m[3] + m[4]}}
			if id := grubID.FindStringSubmatch(m[5]); id != nil {
				entry.id = id[1] + id[2]
			}
			last.entries = append(last.entries, entry)
			open = append(open, entry)
		case line == "blscfg":
			last.entries = append(last.entries, loaderEntries...)
		case line == "}" && len(open) > 1:
			open = open[:len(open)-1]
		case strings.HasSuffix(line, "{"):
			open = append(open, &grubEntry{})
		default:
			menu.addLine(line, last)
		}
	}
	menu.entries = root.entries
	return menu
}

// addLine adds what one line says inside entry in, or outside of any entry.
func (m *grubMenu) addLine(line string, in *grubEntry) {
	if d := grubDefault.FindStringSubmatch(line); d != nil && d[1] != "${next_entry}" {
		m.chosen = d[1]
	}
	fields := strings.Fields(line)
	if len(fields) > 1 && len(in.kernels) == 0 &&
		(fields[0] == "linux" || fields[0] == "linuxefi" || fields[0] == "linux16") {
		in.kernels = kernelNames(fields[1])
	}
}

// bootedEntry returns the entry that starts next under an environment block, or nil if it cannot follow the choice.
func (m grubMenu) bootedEntry(env map[string]string) *grubEntry {
	chosen := m.chosen
	if chosen == "${saved_entry}" {
		chosen = env["saved_entry"]
	}
	chosen = cmp.Or(env["next_entry"], chosen, "0")
	entries := m.entries
	for {
		step, rest, deeper := strings.Cut(chosen, ">")
		entry := pickEntry(entries, step)
		switch {
		case entry == nil:
			return nil
		case deeper:
			entries, chosen = entry.entries, rest
		case len(entry.kernels) == 0 && len(entry.entries) > 0: // a submenu starts its first entry
			entries, chosen = entry.entries, "0"
		default:
			return entry
		}
	}
}

// pickEntry finds an entry by number, id or title, as GRUB does.
func pickEntry(entries []*grubEntry, name string) *grubEntry {
	if n, err := strconv.Atoi(name); err == nil {
		if n < 0 || n >= len(entries) {
			return nil
		}
		return entries[n]
	}
	i := slices.IndexFunc(entries, func(e *grubEntry) bool { return e.id == name || e.title == name })
	if i < 0 {
		return nil
	}
	return entries[i]
}
