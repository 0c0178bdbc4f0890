package pages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
	"cudacompat/tools/artefact/wheel"

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

// TestChipRows takes the ids of a newer pci.ids into the table, and rejects one that lacks an id in the table.
func TestChipRows(t *testing.T) {
	d, err := artefact.OpenData("../../../data")
	if err != nil {
		t.Fatal(err)
	}
	g := d.Grids["gpu"]
	g.Rows = [][]string{slices.Clone(g.Rows[slices.IndexFunc(g.Rows, func(row []string) bool { return row[0] == "GA100" })])}
	g.Rows[0][g.Column("pci_ids")] = "20b0"
	g.Rows[0][g.Column("source")] = "https://snapshot.debian.org/package/pci.ids/0.0~2026.10.24-1/ https://example.com/a"
	d.Grids["gpu"] = g
	file := filepath.Join(t.TempDir(), "pci.ids")
	if err := os.WriteFile(file, []byte("#\tVersion: 2026.12.01\n"+pciIDs), 0o644); err != nil {
		t.Fatal(err)
	}
	l := artefact.Listed{ID: "pci-ids", Address: "https://snapshot.debian.org/package/pci.ids/", Copy: "get it"}
	s := &artefact.Source{Data: d, Reader: reading.Reader{Web: wheel.NewWeb(0), Cache: t.TempDir()}}
	if _, err := chipRows(t.Context(), s, l); err == nil || !strings.Contains(err.Error(), "--copy pci-ids=PATH (get it)") {
		t.Errorf("without a copy: %v", err)
	}
	s.Copies = map[string]string{"pci-ids": file}
	rows, err := chipRows(t.Context(), s, l)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v %v", rows, err)
	}
	change := d.Compare(rows[0])
	if got := change.New[g.Column("pci_ids")]; got != "20b0 20b2 20bb" {
		t.Errorf("ids %s", got)
	}
	if got, want := change.New[g.Column("source")], "https://snapshot.debian.org/package/pci.ids/0.0~2026.12.01-1/ https://example.com/a"; got != want {
		t.Errorf("sources %s, want %s", got, want)
	}
	lock := artefact.Lock{l.ID: {}}
	if err := lock.Fetched(t.Context(), l, s); err != nil || lock[l.ID].Fetched != "2026-12-01" {
		t.Errorf("a copy of 1 December is of %s: %v", lock[l.ID].Fetched, err)
	}
	s.Copies = nil
	if again, err := chipRows(t.Context(), s, l); err != nil || len(again) != 1 {
		t.Errorf("from what was kept: %v %v", again, err)
	}
	g.Rows[0][g.Column("pci_ids")] = "20ff"
	if _, err := chipRows(t.Context(), s, l); err == nil || !strings.Contains(err.Error(), "20ff") {
		t.Errorf("an id that is gone gives %v", err)
	}
}
