package fleet

import (
	"strings"
	"time"
)

// Stale is a node whose document is old, or does not tell its age rightly.
type Stale struct {
	Node   string `json:"node"`
	Taken  string `json:"taken"`
	Reason string `json:"reason"`
	// Behind is how much older than the newest document it is, or 0 if its time itself is wrong.
	Behind time.Duration `json:"-"`
}

// Future is the reason of a document from the future.
const Future = "its time is in the future"

// fastClock is how far a node's clock may be ahead of this machine's.
const fastClock = 10 * time.Minute

// StaleAfter names the nodes whose documents are older than the newest by more than age. It ignores documents without a
// time. A document from the future comes from a node with a wrong clock, and does not count as the newest.
func StaleAfter(age time.Duration, now time.Time) func([]Member) []Stale {
	latest := now.Add(fastClock)
	return func(nodes []Member) []Stale {
		newest := newestOf(nodes, latest)
		var list []Stale
		for _, n := range nodes {
			if reason, behind := n.staleness(newest, latest, age); reason != "" {
				list = append(list, Stale{n.Node, n.Taken, reason, behind})
			}
		}
		return list
	}
}

func newestOf(nodes []Member, latest time.Time) time.Time {
	var newest time.Time
	for _, n := range nodes {
		if at := n.at(); at.After(newest) && !at.After(latest) {
			newest = at
		}
	}
	return newest
}

func (n Member) staleness(newest, latest time.Time, age time.Duration) (reason string, behind time.Duration) {
	at := n.at()
	switch {
	case n.Taken == "":
		return "", 0
	case at.IsZero():
		return "its time is not one such as 2026-11-22T10:00:00Z", 0
	case at.After(latest):
		return Future, 0
	case newest.Sub(at) > age:
		return "taken " + Hours(newest.Sub(at)) + " before the newest document", newest.Sub(at)
	}
	return "", 0
}

// Hours returns a time in words, "48h0m".
func Hours(d time.Duration) string { return strings.TrimSuffix(d.Round(time.Minute).String(), "0s") }

// at returns the time of a node's document, or the zero time.
func (n Member) at() time.Time {
	at, _ := time.Parse(time.RFC3339, n.Taken)
	return at
}
