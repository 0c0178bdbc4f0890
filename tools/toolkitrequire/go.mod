module github.com/NVIDIA/nvidia-container-toolkit/cudacompat

go 1.24.0

require github.com/NVIDIA/nvidia-container-toolkit v1.18.0

require (
	github.com/sirupsen/logrus v1.9.3 // indirect
	golang.org/x/mod v0.29.0 // indirect
	golang.org/x/sys v0.37.0 // indirect
)
