package probe

import (
	"path"
	"slices"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// need says what a place means that a source of facts could not see.
type need int

const (
	// The zero need is a note: what is in such a place moves nothing.
	_ need = iota
	// nothingClosed places are notes unless this user may not look there. Logs, other users' processes and firmware
	// variables are root's on every machine, and their absence leaves nothing unseen.
	nothingClosed
	// atRest places matter only for a tree at rest, where files alone show what will be there. On a running machine the
	// driver's own answer outranks them.
	atRest
	// always: a link rests on them.
	always
)

// withSkipped adds the places that a source could not read to Facts.Unread, because they may contain what the source
// looked for. A rule about something missing is withheld while its source has such a place.
func withSkipped(apply source.Update, r reader, rest bool, skipped []host.Skipped) source.Update {
	unread := unreadOf(r, rest, skipped)
	if len(unread) == 0 {
		return apply
	}
	return func(f *Facts) {
		apply(f)
		for _, u := range unread {
			if !isListed(f.Unread, u) {
				f.Unread = append(f.Unread, u)
			}
		}
	}
}

// unreadOf returns the places that a source could not see, with what each means.
func unreadOf(r reader, rest bool, skipped []host.Skipped) []facts.Unread {
	var list []facts.Unread
	for _, s := range host.Topmost(skipped) {
		u := facts.Unread{Place: s.Place, Reason: s.Reason, Probe: r.name, Kind: facts.UnreadClosed}
		switch {
		case s.Cut:
			u.Kind = facts.UnreadCut
		case !rest && s.Closed && (r.needs == nothingClosed || host.IsPrivate(s.Place)):
			continue // homes and processes of other users: the source of Python environments counts the homes
		case r.needs == always, r.needs == atRest && rest:
			u.Kind = facts.UnreadNeeded
		}
		list = append(list, u)
	}
	return list
}

// isListed reports whether a place is named already, for the same source or for what matters more.
func isListed(list []facts.Unread, u facts.Unread) bool {
	return slices.ContainsFunc(list, func(o facts.Unread) bool {
		return (o.Place == u.Place || strings.HasPrefix(u.Place, strings.TrimSuffix(o.Place, "/")+"/")) &&
			(o.Probe == u.Probe || o.Kind == u.Kind && path.IsAbs(o.Place) && u.Kind == facts.UnreadClosed && o.Probe == "")
	})
}
