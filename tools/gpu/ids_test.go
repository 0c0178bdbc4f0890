package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pciIDs = `# comment
1002  Advanced Micro Devices, Inc. [AMD/ATI]
	20b0  GA100, of another vendor
10de  NVIDIA Corporation
	0fb9  GP107GL High Definition Audio Controller
	1028  GK110BGL [Tesla K20Xm]
	1380  GM107 [GeForce GTX 750 Ti]
	13ad  GM204 [GM107 INT52]
	1af1  GA100 [A100 NVSwitch]
	20b0  GA100 [A100 SXM4 40GB]
		10de 1450  a board
	20b2  GA100 [A100 SXM4 80GB]
	20bb  GA100GL [DRIVE A100 PROD]
	2330  GH100 [H100 SXM5 80GB]
	2342  GH100 [GH200 120GB / 480GB]
	22ce  GB10 GEN5 X4 PCIe host
	2b00  GB10B
	3400  GB10B [Tegra RP iGPU]
	0fa0  GK11x [GK11x_FPGA]
10df  Emulex Corporation
	2331  GH100, of another vendor
`

func TestIDs(t *testing.T) {
	got := idsOf(entries([]byte(pciIDs)), []string{"GA100", "GB10B", "GH100", "GH200", "GK110", "GM107", "GM204"})
	want := map[string][]string{"GA100": {"20b0", "20b2", "20bb"}, "GB10B": {"2b00"}, "GH100": {"2330"},
		"GH200": {"2342"}, "GK110": {"1028"}, "GM107": {"1380"}, "GM204": {"13ad"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids of the chips (-want +got):\n%s", diff)
	}
}

func TestRewrite(t *testing.T) {
	const header = "chip,capability,pci_ids,source,checked\n"
	old := header + "GA100,8.0,20b0,https://github.com/pciutils/pciids/blob/c1c1/pci.ids " +
		"https://example.com/a,2026-01-02\nGK20A,3.2,,https://example.com/b,2026-01-02\n"
	want := header + "GA100,8.0,20b0 20b2 20bb,https://example.com/pci.ids/2 " +
		"https://example.com/a,2026-03-04\nGK20A,3.2,,https://example.com/b,2026-01-02\n"
	got, err := rewrite([]byte(old), entries([]byte(pciIDs)), "https://example.com/pci.ids/2", "2026-03-04")
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, string(got)))
	}
	if _, err := rewrite([]byte(strings.Replace(old, "20b0", "20ff", 1)), entries([]byte(pciIDs)), "", ""); err == nil ||
		!strings.Contains(err.Error(), "20ff") {
		t.Errorf("an id that is gone gives %v", err)
	}
}
