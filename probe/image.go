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

// Image is a container's image that was read and not unpacked. Close gives back what was kept of it.
type Image = image.Image

// ImageOptions say how an image is read.
type ImageOptions = image.Options

// ManyImages is the error of an archive or a layout with several images.
type ManyImages = image.ManyError

// NoTag is the error of images of which none bears the name that was asked for, OtherPlatform of an image that is for none of the platform that was asked for, ManyPlatforms of one that is
// for several of which nothing tells the one that is meant.
type (
	NoTag         = image.NoTagError
	OtherPlatform = image.OtherPlatformError
	ManyPlatforms = image.ManyPlatformsError
)

// ParsePlatform reads a platform as Docker takes it, such as linux/arm64.
func ParsePlatform(text string) (string, error) { return image.ParsePlatform(text) }

// ErrNoImage is the error of an archive that holds something else.
var ErrNoImage = image.ErrNoImage

// IsImage reports whether a file that begins so can be an image, IsLayout whether a directory is one.
func IsImage(head []byte) bool { return image.Is(head) }

// IsLayout reports whether a directory is an OCI layout.
func IsLayout(dir string) bool { return image.IsLayout(dir) }

// OpenImage reads the image in an archive, as docker save, podman save and skopeo copy write it; from a pipe as it goes
// by. Nothing is unpacked. Errors say in one clause what is wrong with it.
func OpenImage(ctx context.Context, r io.Reader, opt ImageOptions) (*Image, error) {
	return image.Open(ctx, r, opt)
}

// OpenLayout is OpenImage for the directory of an OCI layout.
func OpenLayout(ctx context.Context, dir string, opt ImageOptions) (*Image, error) {
	return image.OpenDirectory(ctx, dir, opt)
}

// RunImage is Run for an image: for what will be started from it, with the variables that its configuration sets.
func RunImage(ctx context.Context, i *Image, opt Options) Facts {
	h := imageHost(i)
	f := Run(ctx, h, opt)
	f.Image = &facts.Image{Digest: i.Digest, Platform: i.Config.OS + "/" + i.Config.Architecture, Others: i.Others,
		Layers: i.Layers, User: i.Config.Config.User}
	if h.Start != "" {
		f.Image.Starts = path.Base(h.Start)
	}
	f.Variables = process.Variables(h.Env)
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

// imageHost is an image as the place where its program is started.
func imageHost(i *Image) *Host {
	h := host.Unmounted(i, i.Config.Env(), i.Config.Start())
	if h.Env["HOME"] == "" {
		h.Env["HOME"] = homeOf(h, i.Config.Config.User)
	}
	return h
}

// homeOf is the HOME of what is started from an image as a user, "app", "1000" or "1000:1000": runtimes take it from the
// image's /etc/passwd (runc, libcontainer/init_linux.go).
//
//	app:x:1000:1000::/home/app:/bin/bash
func homeOf(h *Host, user string) string {
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
