package probe

import (
	"context"
	"io"
	"path"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/image"
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
	env := i.Config.Env()
	f := Run(ctx, host.Unmounted(i, env), opt)
	f.Image = &facts.Image{Digest: i.Digest, Platform: i.Config.OS + "/" + i.Config.Architecture, Others: i.Others,
		Layers: i.Layers, User: i.Config.Config.User}
	for _, start := range [][]string{i.Config.Config.Entrypoint, i.Config.Config.Cmd} {
		if len(start) > 0 {
			f.Image.Starts = path.Base(start[0])
			break
		}
	}
	f.Variables = variablesOf(env)
	if f.System.Arch == "" {
		f.System.Arch = machineName[i.Config.Architecture]
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
