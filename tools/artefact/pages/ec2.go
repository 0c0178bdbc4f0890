package pages

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
	"cudacompat/tools/artefact/wheel"
)

// instanceModel is the part of EC2's interface description in botocore that lists the instance types:
//
//	{"shapes": {"InstanceType": {"enum": ["a1.medium", …]}}}
type instanceModel struct {
	Shapes struct {
		InstanceType struct {
			Enum []string `json:"enum"`
		}
	} `json:"shapes"`
}

const instanceMember = "botocore/data/ec2/2016-11-15/service-2.json.gz"

// ofNVIDIA matches the families of instances with NVIDIA's GPUs that drivers of today serve; ofOthers are AMD's, and
// those whose GPUs no maintained driver knows.
var (
	ofNVIDIA = regexp.MustCompile(`^(p|g|gr)\d`)
	ofOthers = regexp.MustCompile(`^(g2|g4ad)\.`)
)

// instanceRows compares the names of EC2's instance types with the table: a type without a row is named. What is in a
// type no list says.
func instanceRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	wheel, err := findNewestWheel(s, ctx, l.Projects[0])
	if err != nil {
		return nil, err
	}
	types, err := readInstanceTypes(&s.Reader, ctx, wheel)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range types {
		if ofNVIDIA.MatchString(name) && !ofOthers.MatchString(name) && !s.Data.HasRow("ec2", name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, &artefact.Lacking{What: "ec2.csv has no row of " + strings.Join(missing, ", ")}
	}
	return nil, nil
}

// findNewestWheel returns the wheel of a project's newest release that is neither yanked nor one to try.
func findNewestWheel(s *artefact.Source, ctx context.Context, project string) (newest wheel.File, err error) {
	files, err := s.ListFiles(ctx, project)
	if err != nil {
		return wheel.File{}, err
	}
	version := ""
	for _, f := range files {
		tag, is := f.Tag()
		if is && !f.Yanked && f.SHA256 != "" && artefact.FinalVersion.MatchString(tag.Version) && reading.CompareVersions(version, tag.Version) < 0 {
			newest, version = f, tag.Version
		}
	}
	if version == "" {
		return wheel.File{}, errors.New("the index has no wheel of it")
	}
	return newest, nil
}

// readInstanceTypes reads the list out of a wheel, or finds it in the cache.
func readInstanceTypes(r *reading.Reader, ctx context.Context, f wheel.File) ([]string, error) {
	return reading.ReadOnce(r, f, "instances", func() ([]string, error) {
		var model instanceModel
		if err := readModel(r, ctx, f, instanceMember, &model); err != nil {
			return nil, err
		}
		types := model.Shapes.InstanceType.Enum
		if len(types) == 0 {
			return nil, fmt.Errorf("%s lists no instance type", f.Name)
		}
		return types, nil
	})
}

// readModel reads the description of an interface out of botocore's wheel.
func readModel(r *reading.Reader, ctx context.Context, f wheel.File, member string, into any) error {
	wheel, err := r.Web.Open(ctx, f)
	if err != nil {
		return err
	}
	defer wheel.Close()
	members := wheel.ListMembers(member)
	if len(members) != 1 {
		return fmt.Errorf("%s: there is no %s in it", f.Name, member)
	}
	file, err := members[0].Open()
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err == nil {
		err = json.NewDecoder(text).Decode(into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}
