package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/validation"
)

// kubernetes does what the API server does with a new pod: strict decoding, defaults, validation.
func kubernetes(_ string, data []byte) error {
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	object, _, err := codecs.UniversalDecoder(core.SchemeGroupVersion).Decode(data, nil, nil)
	if err != nil {
		return err
	}
	p, ok := object.(*core.Pod)
	if !ok {
		return fmt.Errorf("it is a %T, not a pod", object)
	}
	p.Namespace = "default"
	options := pod.GetValidationOptionsFromPodSpecAndMeta(&p.Spec, nil, &p.ObjectMeta, nil)
	return validation.ValidatePodCreate(p, options).ToAggregate()
}
