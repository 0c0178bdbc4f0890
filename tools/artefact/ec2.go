package artefact

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
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
func instanceRows(ctx context.Context, s *Source, l Listed) ([]Row, error) {
	wheel, err := s.newestWheel(ctx, l.Projects[0])
	if err != nil {
		return nil, err
	}
	types, err := s.instanceTypes(ctx, wheel)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range types {
		if ofNVIDIA.MatchString(name) && !ofOthers.MatchString(name) && !s.data.hasRow("ec2", name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, &Lacking{"ec2.csv has no row of " + strings.Join(missing, ", ")}
	}
	return nil, nil
}

// newestWheel returns the wheel of a project's newest release that is neither yanked nor one to try.
func (s *Source) newestWheel(ctx context.Context, project string) (newest File, err error) {
	files, err := s.files(ctx, project)
	if err != nil {
		return File{}, err
	}
	version := ""
	for _, f := range files {
		tag, is := f.Tag()
		if is && !f.Yanked && f.SHA256 != "" && final.MatchString(tag.Version) && compareVersions(version, tag.Version) < 0 {
			newest, version = f, tag.Version
		}
	}
	if version == "" {
		return File{}, errors.New("the index has no wheel of it")
	}
	return newest, nil
}

// instanceTypes reads the list out of a wheel, or finds it in the cache.
func (r *Reader) instanceTypes(ctx context.Context, f File) ([]string, error) {
	return once(r, f, "instances", func() ([]string, error) {
		var model instanceModel
		if err := r.model(ctx, f, instanceMember, &model); err != nil {
			return nil, err
		}
		types := model.Shapes.InstanceType.Enum
		if len(types) == 0 {
			return nil, fmt.Errorf("%s lists no instance type", f.Name)
		}
		return types, nil
	})
}

// model reads the description of an interface out of botocore's wheel.
func (r *Reader) model(ctx context.Context, f File, member string, into any) error {
	wheel, err := r.Web.Open(ctx, f)
	if err != nil {
		return err
	}
	defer wheel.Close()
	members := wheel.members(member)
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
