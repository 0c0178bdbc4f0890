package model

// Memo caches results that hold for every build with the same key.
type Memo struct{ lists map[MemoKey][]Row }

// MemoKey is what rows depend on, apart from the machine.
type MemoKey struct {
	Framework, Python string // of the build
	Release           string // that has to go with it; empty: any
}

// maxMemoLists limits the cached lists. Otherwise a file with 1,900 releases of torch would keep as many copies of its
// table.
const maxMemoLists = 32

// Rows computes a list once for each key: 4,000 lines of torch in one file ask for the same list.
func (w *Memo) Rows(key MemoKey, work func() []Row) []Row {
	list, ok := w.lists[key]
	if !ok {
		list = work()
		if w.lists == nil || len(w.lists) == maxMemoLists {
			w.lists = map[MemoKey][]Row{}
		}
		w.lists[key] = list
	}
	return list
}
