package image

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/host/imagetest"
)

// index returns an archive of images, named by platform, "amd64", "arm64/v8", or with a tag, "v2=amd64". "-" precedes
// one that the archive lacks, "?" one whose platform the index does not give. An attestation and a signature are beside
// them.
func index(t *testing.T, images ...string) []byte {
	t.Helper()
	var all []imagetest.File
	var list []map[string]any
	for _, name := range images {
		tag, name, tagged := strings.Cut(name, "=")
		if !tagged {
			tag, name = "", tag
		}
		platform := strings.Trim(name, "-?")
		arch, variant, _ := strings.Cut(platform, "/")
		files := imagetest.Image{Layers: [][]byte{imagetest.Tar(t, []imagetest.File{imagetest.Text("is", platform+tag)})},
			Config: map[string]any{"architecture": arch, "variant": variant}}.OCI(t)
		var own struct{ Manifests []map[string]any }
		hosttest.Must(t, json.Unmarshal(files[len(files)-1].Data, &own))
		one := own.Manifests[0]
		if !strings.HasPrefix(name, "?") {
			one["platform"] = map[string]string{"os": "linux", "architecture": arch, "variant": variant}
		}
		if tag != "" {
			one["annotations"] = map[string]string{refName: tag}
		}
		if !strings.HasPrefix(name, "-") {
			all = append(all, files[:len(files)-2]...)
		}
		list = append(list, one)
	}
	attestation := []byte(`{"layers":[]}`)
	signature := []byte(`{"layers":[{"mediaType":"application/vnd.dev.cosign.simplesigning.v1+json"}]}`)
	for _, data := range [][]byte{attestation, signature} {
		all = append(all, imagetest.File{Name: "blobs/sha256/" + imagetest.Digest(data)[7:], Data: data})
	}
	list = append(list, map[string]any{"digest": imagetest.Digest(attestation), "platform": map[string]string{"os": "unknown", "architecture": "unknown"}},
		map[string]any{"digest": imagetest.Digest(signature)})
	data, err := json.Marshal(map[string]any{"manifests": list})
	hosttest.Must(t, err)
	return imagetest.Tar(t, append(all, imagetest.File{Name: "index.json", Data: data}))
}

// TestPlatforms checks which image of an index is read.
func TestPlatforms(t *testing.T) {
	machine := func(names ...string) Options { return Options{Machines: names} }
	platform := func(name string) Options { return Options{Platform: name} }
	for _, c := range []struct {
		name   string
		images []string
		opt    Options
		want   string // what is read, or the error
		others string
	}{
		{"one", []string{"amd64"}, Options{}, "amd64", ""},
		{"one for Arm", []string{"arm64/v8"}, Options{}, "arm64/v8", ""},
		{"one for Arm, for x86", []string{"arm64/v8"}, machine("linux/amd64"), "arm64/v8", ""}, // which a rule judges
		{"two", []string{"arm64/v8", "amd64"}, Options{}, "amd64", "linux/arm64"},
		{"two, for Arm", []string{"amd64", "arm64/v8"}, machine("linux/arm64"), "arm64/v8", "linux/amd64"},
		{"two, for both", []string{"amd64", "arm64"}, machine("linux/arm64", "linux/amd64"),
			"the machines that are named take different images of it, for linux/arm64, linux/amd64", ""},
		{"two, for several of one", []string{"amd64", "arm64"}, machine("linux/arm64", "linux/arm64"), "arm64", "linux/amd64"},
		{"one, for both", []string{"amd64"}, machine("linux/arm64", "linux/amd64"), "amd64", ""},
		{"the one that is there", []string{"-amd64", "arm64"}, Options{}, "arm64", ""},
		{"none is there", []string{"-amd64", "-arm64"}, Options{}, "it lacks blobs/sha256/", ""},
		{"asked for", []string{"amd64", "arm64/v8"}, platform("linux/arm64"), "arm64/v8", "linux/amd64"},
		{"before the machines", []string{"amd64", "arm64"}, Options{Platform: "linux/amd64", Machines: []string{"linux/arm64"}}, "amd64", "linux/arm64"},
		{"asked for, and not there", []string{"amd64"}, platform("linux/arm64"), "it is for linux/amd64, not for linux/arm64", ""},
		{"not there, of several", []string{"amd64", "s390x"}, platform("linux/arm64"), "it is for linux/amd64, linux/s390x, not for linux/arm64", ""},
		{"neither", []string{"ppc64le", "arm64"}, Options{}, "it is for several platforms: linux/ppc64le, linux/arm64", ""},
		{"any processor first", []string{"amd64/v3", "amd64"}, Options{}, "amd64", "linux/amd64/v3"},
		{"a processor's", []string{"amd64/v3", "amd64"}, platform("linux/amd64/v3"), "amd64/v3", "linux/amd64"},
		{"by the configuration", []string{"?amd64", "?arm64"}, platform("linux/arm64"), "arm64", "linux/amd64"},
		{"twice the same", []string{"amd64", "amd64"}, Options{}, "amd64", ""},
		{"two tags", []string{"a=?amd64", "b=?arm64"}, Options{}, "it holds several images: a, b", ""},
		{"two tags, for a machine", []string{"a=?amd64", "b=?arm64"}, machine("linux/arm64"), "it holds several images: a, b", ""},
		{"two tags, asked for", []string{"a=?amd64", "b=?arm64"}, platform("linux/arm64"), "arm64b", "linux/amd64"},
		{"two tags of one platform", []string{"a=?amd64", "b=?amd64"}, platform("linux/amd64"), "it holds several images: a, b", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			i, err := Open(t.Context(), bytes.NewReader(index(t, c.images...)), c.opt)
			if err != nil {
				if !strings.HasPrefix(err.Error(), c.want) {
					t.Fatalf("%v, want %s", err, c.want)
				}
				return
			}
			defer i.Close()
			f, err := i.Open("/is")
			hosttest.Must(t, err)
			is := make([]byte, 100)
			n, _ := f.Read(is)
			if string(is[:n]) != c.want || strings.Join(i.Others, " ") != c.others {
				t.Errorf("%s beside %q, want %s beside %q", is[:n], i.Others, c.want, c.others)
			}
		})
	}
}

// TestParsePlatform checks platforms as people write them.
func TestParsePlatform(t *testing.T) {
	for text, want := range map[string]string{"linux/amd64": "linux/amd64", "linux/arm64/v8": "linux/arm64", "aarch64": "linux/arm64",
		"linux/x86_64": "linux/amd64", "Linux/AMD64": "linux/amd64", "linux/amd64/v3": "linux/amd64/v3",
		"windows/amd64": "", "linux/ppc64le": "", "linux": "", "": "", "/": "", "linux/amd64/v3/x": "", "a/b/c/d/e": ""} {
		if got, err := ParsePlatform(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
