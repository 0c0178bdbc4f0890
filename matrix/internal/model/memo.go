package model

// Memo is what was worked out for one build and holds for every other that asks the same.
type Memo struct{ lists map[MemoKey][]Row }

// MemoKey is what rows depend on, beside the machine.
type MemoKey struct {
	Framework, Python string // of the build
	Release           string // that has to go with it; empty: any
}

// maxMemoLists is how many lists are kept: a file with 1,900 releases of torch would keep as many copies of its table.
const maxMemoLists = 32

// Rows works a list out once: 4,000 lines of torch in one file ask the same.
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
