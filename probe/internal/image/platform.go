package image

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// architectures maps common names of architectures to those in images (containerd, platforms).
var architectures = map[string]string{"x86_64": "amd64", "x86-64": "amd64", "aarch64": "arm64"}

// ParsePlatform parses a platform as Docker accepts it: linux/arm64, linux/arm64/v8, or only the architecture. CUDA
// exists for two.
func ParsePlatform(text string) (string, error) {
	parts := strings.Split(strings.ToLower(text), "/")
	if len(parts) == 1 {
		parts = []string{"linux", parts[0]}
	}
	parts[1] = cmp.Or(architectures[parts[1]], parts[1])
	name := strings.TrimSuffix(strings.Join(parts, "/"), "/v8")
	if base := strings.Join(parts[:2], "/"); len(parts) > 3 || base != "linux/amd64" && base != "linux/arm64" {
		return "", fmt.Errorf("%s is neither linux/amd64 nor linux/arm64", text)
	}
	return name, nil
}

// platform returns an image's, by its configuration.
func (c Config) platform() string { return platformName(c.OS, c.Architecture, c.Variant) }

func platformName(os, architecture, variant string) string {
	if variant == "" || architecture == "arm64" && variant == "v8" {
		return os + "/" + architecture
	}
	return os + "/" + architecture + "/" + variant
}

// serves reports whether an image for have is what want asks for: linux/amd64 takes any variant.
func serves(have, want string) bool { return have == want || strings.HasPrefix(have, want+"/") }

// offer is one image of an index.
type offer struct {
	descriptor
	platform string // empty where neither the index nor the image tells
}

// maxImages limits the images of an index. Docker's official images have about twenty, with an attestation for each.
const maxImages = 1000

// offers returns the images of an index without duplicates. Docker saves an index with only the images that it has; a
// named but absent one counts only if none is present.
func offers(src source, list []descriptor) ([]offer, error) {
	if len(list) > maxImages {
		return nil, fmt.Errorf("its index names more than %d images", maxImages)
	}
	var there, absent []offer
	seen := map[string]bool{}
	for _, d := range list {
		if seen[d.Digest] {
			continue
		}
		seen[d.Digest] = true
		one := offer{d, ""}
		if p := d.Platform; p != nil {
			one.platform = platformName(p.OS, p.Architecture, p.Variant)
		}
		m, err := manifestOf(src, d.Digest)
		switch {
		case strings.HasPrefix(one.platform, "unknown/"): // an attestation of a builder
		case errors.As(err, new(absentError)):
			absent = append(absent, one)
		case err == nil && m.isNoImage(): // a signature, a list of packages
		default:
			one.platform = cmp.Or(one.platform, m.platform(src))
			there = append(there, one)
		}
	}
	if len(there) == 0 {
		return absent, nil
	}
	return there, nil
}

// manifest is what an image is made of, or another index.
type manifest struct {
	Config descriptor   `json:"config"`
	Layers []descriptor `json:"layers"`
}

func manifestOf(src source, digest string) (m manifest, err error) {
	data, err := verifiedDocument(src, digest)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	return m, err
}

// isNoImage reports whether a manifest is of something else than an image: its layers are no archives of files.
func (m manifest) isNoImage() bool {
	return slices.ContainsFunc(m.Layers, func(l descriptor) bool { return l.MediaType != "" && !strings.Contains(l.MediaType, ".tar") })
}

// platform returns the platform in the configuration, or "".
func (m manifest) platform(src source) string {
	var c Config
	data, err := verifiedDocument(src, m.Config.Digest)
	if err != nil || json.Unmarshal(data, &c) != nil || c.Architecture == "" {
		return ""
	}
	return c.platform()
}

// choose returns the image for the requested platform, otherwise for the target machines, otherwise for linux/amd64. It
// also names the platforms of the others.
func choose(list []offer, opt Options) (one descriptor, others []string, err error) {
	if len(list) == 0 {
		return one, nil, errors.New("its index names no image")
	}
	fit := offersFor(list, opt.Platform)
	if len(fit) == 0 {
		return one, nil, &OtherPlatformError{platforms(list), opt.Platform}
	}
	machines := platformsFor(fit, opt.Machines)
	switch {
	case len(fit) == 1, differentTags(fit):
	case len(machines) > 1:
		return one, nil, &ManyPlatformsError{machines, true}
	default:
		for _, want := range append(machines, "linux/amd64") {
			if some := offersFor(fit, want); len(some) > 0 {
				fit = some
				break
			}
		}
	}
	if differentTags(fit) {
		return one, nil, manyOf(fit)
	}
	// One for any processor of an architecture goes before those for some.
	if any := slices.IndexFunc(fit, func(o offer) bool { return len(offersFor(fit, o.platform)) == len(fit) }); any >= 0 && different(fit) {
		fit = fit[any : any+1]
	}
	switch {
	case len(fit) == 1:
		names := slices.DeleteFunc(platforms(list), func(name string) bool { return name == fit[0].platform })
		return fit[0].descriptor, names, nil
	case different(fit):
		return one, nil, &ManyPlatformsError{platforms(fit), false}
	}
	return one, nil, manyOf(fit)
}

func manyOf(list []offer) error {
	var tags []string
	for _, o := range list[:min(len(list), 8)] {
		tags = append(tags, orDigest(o.tag(), o.Digest))
	}
	return &ManyError{tags}
}

func (o offer) tag() string { return o.Annotations[refName] }

// differentTags reports whether images have different names, so that they are not one image for several platforms.
func differentTags(list []offer) bool {
	return slices.ContainsFunc(list, func(o offer) bool { return o.tag() != list[0].tag() })
}

// offersFor returns the images for a platform. An image without a platform is for any.
func offersFor(list []offer, want string) []offer {
	if want == "" {
		return list
	}
	var fit []offer
	for _, o := range list {
		if o.platform == "" || serves(o.platform, want) {
			fit = append(fit, o)
		}
	}
	return fit
}

// platformsFor returns the platforms of machines for which there is an image.
func platformsFor(list []offer, machines []string) []string {
	var found []string
	for _, name := range machines {
		if !slices.Contains(found, name) && slices.ContainsFunc(list, func(o offer) bool { return serves(o.platform, name) }) {
			found = append(found, name)
		}
	}
	return found
}

// different reports whether each image is for a platform of its own.
func different(list []offer) bool { return len(list) > 1 && len(platforms(list)) == len(list) }

// platforms returns those of images, each once, in their order.
func platforms(list []offer) []string {
	var names []string
	for _, o := range list {
		if o.platform != "" && !slices.Contains(names, o.platform) {
			names = append(names, o.platform)
		}
	}
	return names
}

// OtherPlatformError says that an image is for none of the platform that was asked for.
type OtherPlatformError struct {
	Have []string
	Want string
}

func (e *OtherPlatformError) Error() string {
	return fmt.Sprintf("it is for %s, not for %s", someOf(e.Have), e.Want)
}

// ManyPlatformsError says that an image has several platforms and none was selected.
type ManyPlatformsError struct {
	Have     []string
	Machines bool // the machines that it is meant for are of several
}

func (e *ManyPlatformsError) Error() string {
	if e.Machines {
		return "the machines that are named take different images of it, for " + someOf(e.Have)
	}
	return "it is for several platforms: " + someOf(e.Have)
}

// someOf lists names of which an index can have any number.
func someOf(names []string) string { return strings.Join(names[:min(len(names), 8)], ", ") }
