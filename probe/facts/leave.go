package facts

import "cudacompat/internal/budget"

// Leave notes that lists of the facts were left out for lack of time, so that who judges them knows that he does not see
// the whole machine.
func (f *Facts) Leave(left map[string]int) {
	f.Unread = append(f.Unread, Unread{Place: "these facts", Kind: UnreadCut,
		Reason: "the time was up before all of them were written; left out: " + budget.Words(left)})
}
