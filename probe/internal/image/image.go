// Package image reads the file system of a container's image without unpacking it: layers go by once, and of their
// files that is kept which the probes read. It opens no connection.
//
// Two formats are read, the layout of the Open Container Initiative (image-spec, image-layout.md), as a directory or an
// archive, and Docker's archive, which has manifest.json. Both are a hundred lines; the libraries that read them,
// google/go-containerregistry and containers/image, import net/http in the packages that do, and this program links
// none.
package image

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"cudacompat/internal/lazyregexp"
)

// Image is an image whose layers have gone by.
type Image struct {
	Config Config
	Digest string   // of the configuration, which names the image
	Others []string // the other platforms for which it is there
	Layers int
	Bytes  int64 // that were read

	tree  *tree
	store *store

	lock   sync.Mutex
	missed []string
}

// Config is what an image's configuration says about the programs started from it (image-spec, config.md).
type Config struct {
	Architecture string `json:"architecture"` // GOARCH, "amd64"
	OS           string `json:"os"`
	Variant      string `json:"variant"`
	Config       struct {
		User       string   `json:"User"`
		Env        []string `json:"Env"`
		Entrypoint []string `json:"Entrypoint"`
		Cmd        []string `json:"Cmd"`
		WorkingDir string   `json:"WorkingDir"`
	} `json:"config"`
	RootFS struct {
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// defaultPath is the PATH of programs from an image that sets none (moby, oci/defaults.go and DefaultPathEnv;
// containerd, oci.WithDefaultPathEnv).
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Env returns the variables of programs started from the image, except HOME, which is in one of its files.
func (c Config) Env() map[string]string {
	env := map[string]string{"PATH": defaultPath, "PWD": "/"}
	for _, line := range c.Config.Env {
		if name, value, ok := strings.Cut(line, "="); ok {
			env[name] = value
		}
	}
	if dir := c.Config.WorkingDir; path.IsAbs(dir) {
		env["PWD"] = dir
	}
	return env
}

// maxString is the longest argument or variable of a program that Linux starts, in bytes (MAX_ARG_STRLEN of
// linux/binfmts.h), maxStrings how many of them there may be here.
const (
	maxString  = 128 << 10
	maxStrings = 10_000
)

// startable refuses a configuration with which nothing can be started.
func (c Config) startable() error {
	all := slices.Concat(c.Config.Env, c.Config.Entrypoint, c.Config.Cmd, []string{c.Config.WorkingDir, c.Config.User})
	switch {
	case len(all) > maxStrings:
		return fmt.Errorf("its configuration has more than %d variables and arguments", maxStrings)
	case slices.ContainsFunc(all, func(s string) bool { return len(s) >= maxString }):
		return fmt.Errorf("its configuration has a variable or an argument of more than %d KiB, with which Linux starts no program", maxString>>10)
	}
	return nil
}

// starters are programs that start the one that follows them, behind their options.
var starters = []string{"tini", "tini-static", "dumb-init", "catatonit", "docker-init", "env"}

// shells are programs that start the words behind -c.
var shells = []string{"sh", "bash", "dash"}

// Start returns the program that is started from the image, by itself or by an init, env or a shell; empty where it names
// none.
func (c Config) Start() string {
	words := slices.Concat(c.Config.Entrypoint, c.Config.Cmd)
	for len(words) > 0 {
		base := path.Base(words[0])
		if !slices.Contains(starters, base) {
			break
		}
		rest := slices.IndexFunc(words[1:], func(word string) bool {
			return !strings.HasPrefix(word, "-") && !strings.Contains(word, "=")
		})
		if rest < 0 {
			break
		}
		words = words[1+rest:]
	}
	switch {
	case len(words) == 0:
		return ""
	case len(words) > 2 && slices.Contains(shells, path.Base(words[0])) && words[1] == "-c":
		command := strings.Fields(strings.TrimPrefix(words[2], "exec "))
		if len(command) > 0 && !strings.ContainsAny(command[0], "$`'\"\\;&|()<>=*?") {
			return command[0]
		}
	}
	return words[0]
}

// Options say how an image is read.
type Options struct {
	Platform string           // "linux/arm64": no other is read; empty for any
	Tag      string           // of several images the one that bears this name; empty for any
	Machines []string         // platforms of the machines that it is meant for, where they are known
	Tell     func(read int64) // is told how much was read, in bytes; nil tells nobody
}

// Close gives back what was kept.
func (i *Image) Close() { i.store.close() }

// miss notes a file that would have been read and was not kept.
func (i *Image) miss(name string) {
	i.lock.Lock()
	defer i.lock.Unlock()
	if len(i.missed) < 100 && !slices.Contains(i.missed, name) {
		i.missed = append(i.missed, name)
	}
}

// Missed returns the files of which more would have been read than was kept, so that their content is unknown.
func (i *Image) Missed() []string {
	i.lock.Lock()
	defer i.lock.Unlock()
	return slices.Clone(i.missed)
}

// OpenDirectory reads the image in the directory of an OCI layout.
func OpenDirectory(ctx context.Context, dir string, opt Options) (*Image, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openSource(ctx, opt, func(s *shelf) (source, error) { return directory{s, root, isFlat(dir)}, nil })
}

// Open reads the image in an archive, from a pipe as it goes by.
func Open(ctx context.Context, r io.Reader, opt Options) (*Image, error) {
	return openSource(ctx, opt, func(s *shelf) (source, error) {
		if file, ok := r.(*os.File); ok && plainFile(file) {
			return newArchive(s, file)
		}
		raw := bufio.NewReaderSize(archiveReader{s, r}, 128<<10)
		plain, done, err := unpack(raw)
		if err != nil {
			return nil, err
		}
		defer done()
		return newStream(s, plain)
	})
}

// plainFile reports whether a file can be read at any place, and is not packed.
func plainFile(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if at, err := f.Seek(0, io.SeekCurrent); err != nil || at != 0 {
		return false
	}
	head := make([]byte, 512)
	n, _ := f.ReadAt(head, 0)
	return n > 262 && string(head[257:262]) == "ustar"
}

// openSource reads the image of a source.
func openSource(ctx context.Context, opt Options, from func(*shelf) (source, error)) (*Image, error) {
	tell := opt.Tell
	if tell == nil {
		tell = func(int64) {}
	}
	s, err := newShelf(ctx, tell)
	if err != nil {
		return nil, err
	}
	defer s.close()
	i := &Image{tree: newTree(), store: s.store}
	src, err := from(s)
	if err == nil {
		err = i.read(src, opt)
	}
	if err != nil {
		s.store.close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	i.Bytes = s.read
	return i, nil
}

// descriptor names a part of an image (image-spec, descriptor.md).
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Annotations map[string]string `json:"annotations"`
	Platform    *struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
		Variant      string `json:"variant"`
	} `json:"platform"`
}

const refName = "org.opencontainers.image.ref.name"

// parts names what an image is made of.
type parts struct {
	config string   // the configuration's name in the source
	layers []string // from the lowest
	// digests of the layers as they are stored; empty where the source does not say
	digests []string
}

// read puts the image together.
func (i *Image) read(src source, opt Options) error {
	var p parts
	index, err := src.document("index.json")
	if errors.As(err, new(absentError)) && opt.Tag != "" {
		return &NoTagError{Want: opt.Tag}
	}
	if err == nil {
		p, i.Others, err = layout(src, index, opt)
	} else if errors.As(err, new(absentError)) {
		p, err = dockerArchive(src)
	}
	if err != nil {
		return err
	}
	config, err := src.document(p.config)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(config)
	i.Digest = "sha256:" + hex.EncodeToString(sum[:])
	if named := hexDigest.FindString(p.config); named != "" && "sha256:"+named != i.Digest {
		return mismatch("the configuration", "sha256:"+named, i.Digest)
	}
	if err := json.Unmarshal(config, &i.Config); err != nil {
		return fmt.Errorf("its configuration is not valid JSON: %w", err)
	}
	if err := i.Config.startable(); err != nil {
		return err
	}
	if own := i.Config.platform(); opt.Platform != "" && !serves(own, opt.Platform) {
		return &OtherPlatformError{[]string{own}, opt.Platform}
	}
	return i.unpack(src, p)
}

// unpack lays the layers over one another.
func (i *Image) unpack(src source, p parts) error {
	if i.Config.OS != "" && i.Config.OS != "linux" {
		return fmt.Errorf("it is an image for %s", i.Config.OS)
	}
	ids := i.Config.RootFS.DiffIDs
	if len(p.layers) != len(ids) {
		return fmt.Errorf("it has %d layers, and its configuration names %d", len(p.layers), len(ids))
	}
	if len(ids) > maxLayers {
		return fmt.Errorf("it has more than %d layers", maxLayers)
	}
	for n, name := range p.layers {
		what := fmt.Sprintf("layer %d of %d", n+1, len(p.layers))
		l, err := src.layer(name)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if p.digests != nil && p.digests[n] != l.digest {
			return mismatch(what, p.digests[n], l.digest)
		}
		if ids[n] != l.diffID {
			return mismatch(what+", unpacked,", ids[n], l.diffID)
		}
		if err := i.tree.apply(l); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	i.Layers = len(ids)
	return nil
}

func mismatch(what, want, have string) error {
	return fmt.Errorf("%s is not what the image says: its digest is %s, not %s", what, short(have), short(want))
}

// short returns the beginning of a digest.
func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

var hexDigest = lazyregexp.New(`[0-9a-f]{64}`)

// layout finds the parts of the image in an OCI layout, and the other platforms for which it is there.
func layout(src source, index []byte, opt Options) (p parts, others []string, err error) {
	if index, err = indexOfTag(index, opt.Tag); err != nil {
		return p, nil, err
	}
	for depth := 0; depth < 4; depth++ {
		var list struct {
			Manifests []descriptor `json:"manifests"`
			Config    descriptor   `json:"config"`
			Layers    []descriptor `json:"layers"`
		}
		if err := json.Unmarshal(index, &list); err != nil {
			return p, nil, fmt.Errorf("its index is not valid JSON: %w", err)
		}
		if list.Manifests == nil {
			p, err = manifestParts(list.Config, list.Layers)
			return p, others, err
		}
		all, err := offers(src, list.Manifests)
		if err != nil {
			return p, nil, err
		}
		one, rest, err := choose(all, opt)
		if err != nil {
			return p, nil, err
		}
		others = append(others, rest...)
		if index, err = verifiedDocument(src, one.Digest); err != nil {
			return p, nil, err
		}
	}
	return p, nil, errors.New("its indexes lead from one to the next")
}

func orDigest(name, digest string) string {
	if name == "" {
		return short(digest)
	}
	return name
}

// ManyError says that there are several images instead of one.
type ManyError struct{ Names []string }

func (e *ManyError) Error() string {
	return fmt.Sprintf("it holds several images: %s", strings.Join(e.Names, ", "))
}

// verifiedDocument returns a document by its digest.
func verifiedDocument(src source, digest string) ([]byte, error) {
	name, err := blob(digest)
	if err != nil {
		return nil, err
	}
	data, err := src.document(name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if have := "sha256:" + hex.EncodeToString(sum[:]); have != digest {
		return nil, mismatch("the manifest", digest, have)
	}
	return data, nil
}

// blob returns where a layout has what a digest names.
func blob(digest string) (string, error) {
	sum, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(sum) != 64 || hexDigest.FindString(sum) != sum {
		return "", fmt.Errorf("%q is not a SHA-256 digest", digest[:min(len(digest), 80)])
	}
	return "blobs/sha256/" + sum, nil
}

func manifestParts(config descriptor, layers []descriptor) (p parts, err error) {
	if p.config, err = blob(config.Digest); err != nil {
		return p, fmt.Errorf("its configuration: %w", err)
	}
	for n, l := range layers {
		name, err := blob(l.Digest)
		if err != nil {
			return p, fmt.Errorf("layer %d: %w", n+1, err)
		}
		if strings.HasSuffix(l.MediaType, "+encrypted") {
			return p, fmt.Errorf("layer %d is encrypted", n+1)
		}
		p.layers, p.digests = append(p.layers, name), append(p.digests, l.Digest)
	}
	return p, nil
}

// dockerArchive finds the parts in an archive of docker save.
func dockerArchive(src source) (p parts, err error) {
	data, err := src.document("manifest.json")
	if errors.As(err, new(absentError)) {
		return p, ErrNoImage
	}
	if err != nil {
		return p, err
	}
	var list []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return p, fmt.Errorf("its manifest.json is not valid JSON: %w", err)
	}
	switch {
	case len(list) == 0:
		return p, ErrNoImage
	case len(list) > 1:
		var names []string
		for _, one := range list[:min(len(list), 8)] {
			names = append(names, orDigest(strings.Join(one.RepoTags[:min(len(one.RepoTags), 1)], ""), one.Config))
		}
		return p, &ManyError{names}
	}
	return parts{config: list[0].Config, layers: list[0].Layers}, nil
}

// ErrNoImage is the error of an archive that holds something else.
var ErrNoImage = errors.New("it holds no image: no index.json and no manifest.json are in it")
