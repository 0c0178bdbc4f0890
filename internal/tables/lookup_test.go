package tables

import "testing"

// TestGPUNames holds names as NVML, collect_env and people write them.
func TestGPUNames(t *testing.T) {
	for name, want := range map[string]string{
		"NVIDIA A100-SXM4-40GB MIG 3g.20gb": "8.0", "Tesla T4": "7.5", "T4": "7.5", "NVIDIA H100 80GB HBM3": "9.0",
		"NVIDIA H100 (P5)":   "9.0",
		"H100 with NVSwitch": "9.0", "1050 Ti": "6.1", "GeForce RTX 2080Ti": "7.5", "Nvidia RTX 3060": "8.6", "4090": "8.9",
		"A6000":    "8.6",
		"RTX 8000": "7.5", "NVIDIA RTX 6000 Ada Generation": "8.9", "RTX PRO 6000": "12.0",
		"NVIDIA GeForce RTX 5070 Ti": "12.0",
		"NVIDIA GB10":                "12.1", "GRID A100D-40C": "8.0", "NVIDIA A10-24Q": "8.6",
		"GeForce GTX 1660 SUPER":             "7.5",
		"Quadro M1000M":                      "5.0",
		"NVIDIA GeForce RTX 5060 Laptop GPU": "12.0", "Orin": "8.7", "NVIDIA TITAN X (Pascal)": "6.1", "GH200 480GB": "9.0",
		"B200":    "10.0",
		"RTX5090": "12.0", "rtx-5090": "12.0", "RTX_5090": "12.0", "GeForceRTX5090": "12.0", "rtx4090d": "8.9",
		"RTX4090Laptop": "8.9", "rtx6000ada": "8.9", "RTXA6000": "8.6", "rtx-a6000": "8.6", "RTXPRO6000": "12.0",
		"rtx-pro-6000": "12.0", "GTX1080Ti": "6.1", "gtx-1080-ti": "6.1", "GT710M": "", "A100-80GB": "8.0",
		"a100_80gb": "8.0", "A100-SXM4-80GB": "8.0", "H100-SXM5": "9.0", "L40s": "8.9", "b300": "10.3", "gb300": "10.3",
		"nvidia-tesla-t4": "7.5", "nvidia-h100-mega-80gb": "9.0", "nvidia-h200-141gb": "9.0", "TeslaV100": "7.0",
		"Tesla-V100-SXM2-32GB": "7.0", "NVIDIA-GeForce-RTX-3090": "8.6", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb": "8.0",
		"dgx-spark": "12.1", "nvidia-rtx-pro-6000": "12.0", "jetson-agx-orin": "8.7", "TITANRTX": "7.5",
		"RTX50900": "", "rtx": "", "nvidia-": "", "gtx-": "", "rtx-": "", "100-80gb": "",
		"NVIDIA Z999": "", "": "", "GeForce": "", "RTX": "", "NVIDIA": "",
	} {
		got := ""
		if chip := Embedded().ChipNamed(name); chip != nil {
			got = chip.Capability.String()
		}
		if got != want {
			t.Errorf("%q has compute capability %q, want %q", name, got, want)
		}
	}
}
