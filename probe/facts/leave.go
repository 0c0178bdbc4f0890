package facts

import "cudacompat/internal/budget"

// Leave records that lists of the facts were left out for lack of time, so that a reader knows that they do not show
// the whole machine.
func (f *Facts) Leave(left map[string]int) {
	f.Unread = append(f.Unread, Unread{Place: "these facts", Kind: UnreadCut,
		Reason: "the time was up before all of them were written; left out: " + budget.Words(left)})
}
