package image

import (
	"encoding/json"
	"fmt"
	"strings"
)

// indexOfTag returns an index with only the images of one name, or unchanged if no name is requested.
func indexOfTag(index []byte, tag string) ([]byte, error) {
	if tag == "" {
		return index, nil
	}
	var list struct {
		Manifests []descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(index, &list); err != nil {
		return nil, fmt.Errorf("its index is not valid JSON: %w", err)
	}
	var fit []descriptor
	none := &NoTagError{Want: tag}
	for _, d := range list.Manifests {
		name := d.Annotations[refName]
		if name == tag {
			fit = append(fit, d)
		} else if name != "" {
			none.Have = append(none.Have, name)
		}
	}
	if len(fit) == 0 {
		return nil, none
	}
	list.Manifests = fit
	return json.Marshal(list)
}

// NoTagError says that no image has the requested name.
type NoTagError struct {
	Want string
	Have []string
}

func (e *NoTagError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("no image in it is called %q: its images have no names", e.Want)
	}
	return fmt.Sprintf("no image in it is called %q, but %s", e.Want, strings.Join(e.Have[:min(len(e.Have), 8)], ", "))
}
