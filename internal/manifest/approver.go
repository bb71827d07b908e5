package manifest

import (
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// approvers reads verifier keys of notes: "name+hash+base64". It never says
// what stands there: it may be the wrong key.
func (p place) approvers(n *node) []Approver {
	const noKey = "name+hash+key, as `runlens approver show NAME` prints it"
	if !p.want(n, "approvers", listKind) {
		return nil
	}
	if len(n.items) == 0 {
		p.add(n.line, "leave it out: then approvals count unsigned", "approvers is empty")
	}
	var list []Approver
	for i, item := range n.items {
		if item.bad {
			continue
		}
		if item.kind != stringKind {
			p.add(item.line, noKey, "approver %d must be a string, not %s", i+1, item.kind)
			continue
		}
		if strings.HasPrefix(item.text, "PRIVATE+KEY+") {
			p.add(item.line, "put its verifier key here, and make a new pair: this one is no secret any more", "approver %d is a private key", i+1)
			continue
		}
		v, err := note.NewVerifier(item.text)
		if err != nil || strings.ContainsFunc(item.text, isControl) {
			p.add(item.line, noKey, "approver %d is no verifier key", i+1)
			continue
		}
		a := Approver{Name: v.Name(), Key: item.text}
		switch {
		case slices.ContainsFunc(list, func(o Approver) bool { return o.Name == a.Name }):
			p.add(item.line, "a second key needs a name of its own", "approver %s is there twice", quoted(a.Name))
		case slices.ContainsFunc(list, func(o Approver) bool { return o.public() == a.public() }):
			p.add(item.line, "one key, one person", "approver %s has the key of another", quoted(a.Name))
		default:
			list = append(list, a)
		}
	}
	return list
}

// public is the key itself, without name and hash.
func (a Approver) public() string {
	parts := strings.SplitN(a.Key, "+", 3)
	return parts[len(parts)-1]
}
