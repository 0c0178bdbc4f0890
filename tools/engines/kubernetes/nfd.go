package main

import (
	"fmt"

	"sigs.k8s.io/node-feature-discovery/api/nfd/v1alpha1"
	"sigs.k8s.io/node-feature-discovery/pkg/apis/nfd/validate"
	"sigs.k8s.io/node-feature-discovery/source"
	"sigs.k8s.io/node-feature-discovery/source/local"
)

// nfd prints the labels that feature files give, as the worker names them. The directory is the source's own variable,
// which is set when this is built: -ldflags "-X sigs.k8s.io/node-feature-discovery/source/local.featureFilesDir=DIR".
func nfd([]string) error {
	if err := source.GetFeatureSource(local.Name).Discover(); err != nil {
		return err
	}
	labels, err := source.GetLabelSource(local.Name).GetLabels()
	if err != nil {
		return err
	}
	for name, value := range labels {
		label, text := v1alpha1.FeatureLabelNs+"/"+name, fmt.Sprint(value)
		if err := validate.Label(label, text); err != nil {
			return fmt.Errorf("%s=%s: %v", label, text, err)
		}
		fmt.Printf("%s=%s\n", label, text)
	}
	return nil
}
