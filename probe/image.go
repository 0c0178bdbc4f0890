package probe

import (
	"cmp"
	"context"
	"io"
	"path"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/image"
	"cudacompat/probe/internal/process"
	"cudacompat/probe/internal/system"
)

// Image is a container image that was read without unpacking it. Close frees what was kept.
type Image = image.Image

// ImageOptions control how an image is read.
type ImageOptions = image.Options

// ManyImages reports an archive or a layout that holds several images.
type ManyImages = image.ManyError

// Errors of OpenImage and OpenLayout.
type (
	NoTag         = image.NoTagError         // no image has the requested name
	OtherPlatform = image.OtherPlatformError // no image is for the requested platform
	ManyPlatforms = image.ManyPlatformsError // the image exists for several platforms, and none was requested
)

// ParsePlatform parses a platform as Docker writes it, such as linux/arm64.
func ParsePlatform(text string) (string, error) { return image.ParsePlatform(text) }

// ErrNoImage reports an archive that is no image.
var ErrNoImage = image.ErrNoImage

// IsImage reports whether a file with these first bytes can be an image.
func IsImage(head []byte) bool { return image.Is(head) }

// IsLayout reports whether a directory is an OCI layout.
func IsLayout(dir string) bool { return image.IsLayout(dir) }

// OpenImage reads the image in an archive that docker save, podman save or skopeo copy wrote. It reads a pipe in one
// pass and unpacks nothing. Errors say in one clause what is wrong with the archive.
func OpenImage(ctx context.Context, r io.Reader, opt ImageOptions) (*Image, error) {
	return image.Open(ctx, r, opt)
}

// OpenLayout reads the image in an OCI layout's directory, as OpenImage does.
func OpenLayout(ctx context.Context, dir string, opt ImageOptions) (*Image, error) {
	return image.OpenDirectory(ctx, dir, opt)
}

// RunImage reads every source of facts in an image, with the variables that its configuration sets for the program
// started from it.
func RunImage(ctx context.Context, i *Image, opt Options) Facts {
	h := imageHost(i)
	f := Run(ctx, h, opt)
	f.Image = &facts.Image{Digest: i.Digest, Platform: i.Config.OS + "/" + i.Config.Architecture, Others: i.Others,
		Layers: i.Layers, User: i.Config.Config.User}
	if h.Start != "" {
		f.Image.Starts = path.Base(h.Start)
	}
	f.Variables = process.SelectVariables(h.Env)
	if f.System.Arch == "" {
		f.System.Arch = system.MachineNames[i.Config.Architecture]
	}
	missed := i.Missed()
	if len(missed) > 0 { // what was concluded from their gaps would be said of the image
		f = Facts{Image: f.Image, System: facts.System{Rest: true}, Probes: f.Probes}
	}
	for _, name := range missed {
		f.Unread = append(f.Unread, facts.Unread{Place: name, Kind: facts.UnreadCut,
			Reason: "only parts of it were kept when the image was read: unpack the image, and look at it with doctor --root"})
	}
	f.Complete()
	f.Anonymous()
	return f
}

// imageHost returns an image as a host whose process is the image's start program.
func imageHost(i *Image) *Host {
	h := host.Unmounted(i, i.Config.Env(), i.Config.Start())
	if h.Env["HOME"] == "" {
		h.Env["HOME"] = imageHome(h, i.Config.Config.User)
	}
	return h
}

// imageHome returns the HOME of a program that an image starts as a user: "app", "1000" or "1000:1000". Container
// runtimes read it from the image's /etc/passwd (runc, libcontainer/init_linux.go).
//
//	app:x:1000:1000::/home/app:/bin/bash
func imageHome(h *Host, user string) string {
	user, _, _ = strings.Cut(user, ":")
	user = cmp.Or(user, "0")
	for line := range strings.Lines(string(h.ReadQuietly("/etc/passwd"))) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) > 5 && (fields[0] == user || fields[2] == user) && path.IsAbs(fields[5]) {
			return fields[5]
		}
	}
	return "/"
}
