package tables

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"

	"cudacompat/data"
	"cudacompat/internal/version"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestRowsOfAKeyAreThoseOfTheTable compares what is read for each key with the rows of the whole table.
func TestRowsOfAKeyAreThoseOfTheTable(t *testing.T) {
	compareByKey(t, func(r Torch) string { return r.Release })
	compareByKey(t, func(r Extension) string { return r.Package })
	compareByKey(t, func(r Instance) string { return r.Instance })
	compareByKey(t, func(r Alias) string { return r.Instance })
	compareByKey(t, func(r NCCL) string { return r.Release.String() })
}

func compareByKey[T any](t *testing.T, key func(T) string) {
	t.Helper()
	tables := Embedded()
	whole := map[string][]T{}
	for _, row := range Rows[T](tables) {
		whole[key(row)] = append(whole[key(row)], row)
	}
	if len(whole) < 10 {
		t.Fatalf("%T: %d keys", *new(T), len(whole))
	}
	for k, want := range whole {
		if diff := cmp.Diff(want, RowsOf[T](tables, k), cmp.Comparer(func(a, b version.Number) bool { return a == b }), cmp.Comparer(func(a, b version.Capability) bool { return a == b }), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%T, %s: %s", *new(T), k, diff)
		}
		for _, none := range []string{k + ",", k[:len(k)-1] + "\x00", "\n" + k, `"` + k} {
			if got := RowsOf[T](tables, none); len(got) > 0 {
				t.Errorf("%T has rows of %q: %v", *new(T), none, got)
			}
		}
	}
	if got := RowsOf[T](tables, ""); got != nil {
		t.Errorf("%T has rows of no key: %v", *new(T), got)
	}
}

// TestReleasesOfNCCLAreWrittenInFull holds what NCCL looks them up by.
func TestReleasesOfNCCLAreWrittenInFull(t *testing.T) {
	tables := Embedded()
	for _, n := range Rows[NCCL](tables) {
		if found := tables.NCCL(version.ParseOrZero(n.Release.String()+"+cuda12.4"), n.CUDA); len(n.SASS) > 0 && found == nil {
			t.Errorf("NCCL %s for CUDA %s is not found", n.Release, n.CUDA)
		}
	}
}

// TestOwnRowsOfAKey reads a site's rows as CSV has them, with a quoted key.
func TestOwnRowsOfAKey(t *testing.T) {
	const text = "package,uses,release,cuda,source\n" +
		"\"aaa\",gpu,,,https://example.com/x\n" +
		"bbb,\"none\",,,https://example.com/x\n"
	tables, err := LoadOver(fstest.MapFS{"package.csv": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"aaa", "bbb"} {
		own := RowsOf[Package](tables, key)
		all := slices.DeleteFunc(slices.Clone(Rows[Package](tables)), func(p Package) bool { return p.Package != key })
		if len(own) != 1 || fmt.Sprint(own) != fmt.Sprint(all) {
			t.Errorf("%s: %v, of the whole table %v", key, own, all)
		}
	}
}

// TestPartOf compares the rows that are read for one key with those of the whole table, for each key.
func TestPartOf(t *testing.T) {
	whole := tableOf[Extension](Open(data.FS)).ByKey()
	if len(whole) < 10 {
		t.Fatalf("only %d packages in the table", len(whole))
	}
	for key, want := range whole {
		got, ok := partOf[Extension](Open(data.FS), key)
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d rows by themselves (%t), %d of the whole table", key, len(got), ok, len(want))
		}
	}
	some := Open(data.FS)
	for i := range maxParts {
		if rows, ok := partOf[Extension](some, fmt.Sprintf("no-such-package-%d", i)); !ok || len(rows) > 0 {
			t.Errorf("an unknown package: %d rows, %t", len(rows), ok)
		}
	}
	if _, ok := partOf[Extension](some, "triton"); ok {
		t.Error("many keys do not end in the whole table")
	}
	if rows := RowsOf[Extension](some, "triton"); !reflect.DeepEqual(rows, whole["triton"]) {
		t.Errorf("triton: %d rows, want %d", len(rows), len(whole["triton"]))
	}
}
