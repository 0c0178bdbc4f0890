package pages

import (
	"context"
	"fmt"
	"regexp"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
	"cudacompat/tools/artefact/wheel"
)

// sageMakerModel is the part of SageMaker's interface description in botocore that says what is in the machine images on
// which it runs containers:
//
//	{"shapes": {"ProductionVariant": {"members": {"InferenceAmiVersion": {"documentation":
//	 "… <dt>al2-ami-sagemaker-inference-gpu-2</dt> <dd> … <p>NVIDIA driver version: 535</p> … </dd>"}}}}}
type sageMakerModel struct {
	Shapes struct {
		ProductionVariant struct {
			Members struct{ InferenceAmiVersion documented } `json:"members"`
		}
		TransformResources struct {
			Members struct{ TransformAmiVersion documented } `json:"members"`
		}
	} `json:"shapes"`
}

type documented struct {
	Text string `json:"documentation"`
}

const sageMakerMember = "botocore/data/sagemaker/2017-07-24/service-2.json.gz"

var (
	documentedImage  = regexp.MustCompile(`<dt>([\w-]+)</dt>\s*<dd>(.*?)</dd>`)
	documentedDriver = regexp.MustCompile(`NVIDIA driver version: (\d+(?:\.\d+)*)`)
)

// sageMakerRows returns SageMaker's machine images with NVIDIA's driver.
func sageMakerRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	wheel, err := findNewestWheel(s, ctx, l.Projects[0])
	if err != nil {
		return nil, err
	}
	drivers, err := readImageDrivers(&s.Reader, ctx, wheel)
	if err != nil {
		return nil, err
	}
	var rows []artefact.Row
	for name, driver := range drivers {
		rows = append(rows, artefact.Row{Table: "sagemaker", Cells: map[string]string{"image": name, "driver": driver},
			Sources: map[string]string{l.Projects[0]: "wheel " + wheel.Name + " sha256:" + wheel.SHA256}})
	}
	return rows, nil
}

// readImageDrivers reads the driver of each machine image out of a wheel, or finds them in the cache.
func readImageDrivers(r *reading.Reader, ctx context.Context, f wheel.File) (map[string]string, error) {
	return reading.ReadOnce(r, f, "sagemaker", func() (map[string]string, error) {
		var model sageMakerModel
		if err := readModel(r, ctx, f, sageMakerMember, &model); err != nil {
			return nil, err
		}
		drivers := model.drivers()
		if len(drivers) == 0 {
			return nil, fmt.Errorf("%s says of no machine image which driver it has", f.Name)
		}
		return drivers, nil
	})
}

// drivers returns the drivers that the description names, by machine image.
func (model sageMakerModel) drivers() map[string]string {
	drivers := map[string]string{}
	text := model.Shapes.ProductionVariant.Members.InferenceAmiVersion.Text +
		model.Shapes.TransformResources.Members.TransformAmiVersion.Text
	for _, image := range documentedImage.FindAllStringSubmatch(text, -1) {
		if driver := documentedDriver.FindStringSubmatch(image[2]); driver != nil {
			drivers[image[1]] = driver[1]
		}
	}
	return drivers
}
