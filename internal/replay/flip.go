package replay

import (
	"slices"

	"github.com/runlens/runlens/internal/engine"
)

// Class says in which direction a verdict changed, the riskiest first. A block
// counts as a denial. The zero Class is no change.
type Class uint8

// Classes, in the order of reports.
const (
	Same          Class = iota
	DenyToAllow         // deny or block → allow
	AskToAllow          // ask → allow
	DenyToAsk           // deny or block → ask
	GrantWidened        // allow → allow, with a larger limit or none
	AllowToDeny         // allow → deny or block
	AllowToAsk          // allow → ask
	AskToDeny           // ask → deny or block
	GrantNarrowed       // allow → allow, with a smaller limit
	CodesChanged        // the same direction for other reasons
)

// Classes lists all classes but Same, in the order of reports.
func Classes() []Class {
	return []Class{
		DenyToAllow, AskToAllow, DenyToAsk, GrantWidened,
		AllowToDeny, AllowToAsk, AskToDeny, GrantNarrowed, CodesChanged,
	}
}

// Loosened says whether a call may do more than before.
func (c Class) Loosened() bool { return c >= DenyToAllow && c <= GrantWidened }

// String is the word of reports for programs.
func (c Class) String() string {
	switch c {
	case DenyToAllow:
		return "deny_to_allow"
	case AskToAllow:
		return "ask_to_allow"
	case DenyToAsk:
		return "deny_to_ask"
	case GrantWidened:
		return "grant_widened"
	case AllowToDeny:
		return "allow_to_deny"
	case AllowToAsk:
		return "allow_to_ask"
	case AskToDeny:
		return "ask_to_deny"
	case GrantNarrowed:
		return "grant_narrowed"
	case CodesChanged:
		return "codes_changed"
	default:
		return "same"
	}
}

// Compare tells how a verdict changed from old to new.
func Compare(old, new Verdict) Class {
	was, is := standing(old.Effect), standing(new.Effect)
	switch {
	case was == engine.Deny && is == engine.Allow:
		return DenyToAllow
	case was == engine.Ask && is == engine.Allow:
		return AskToAllow
	case was == engine.Deny && is == engine.Ask:
		return DenyToAsk
	case was == engine.Allow && is == engine.Deny:
		return AllowToDeny
	case was == engine.Allow && is == engine.Ask:
		return AllowToAsk
	case was == engine.Ask && is == engine.Deny:
		return AskToDeny
	case is == engine.Allow && old.MaxBytes != new.MaxBytes:
		if new.MaxBytes == 0 || old.MaxBytes != 0 && new.MaxBytes > old.MaxBytes {
			return GrantWidened
		}
		return GrantNarrowed
	case old.Effect != new.Effect || !slices.Equal(old.Codes, new.Codes):
		return CodesChanged
	}
	return Same
}

// standing takes a block for a denial.
func standing(e engine.Effect) engine.Effect {
	if e == engine.Block {
		return engine.Deny
	}
	return e
}

// Flip is one input whose verdict changed.
type Flip struct {
	Class    Class
	Where    string // for people: "runs/demo", "policy_test/paths/x.txtar", "corpus"
	Name     string // within Where: the verdict's seq in decimal, the case's row, the generated call's name
	File     string // where it stands; "" when generated
	Line     int
	Seq      int64  // of the verdict's event; 0 when not recorded
	CallID   string // "" when there is none
	Tool     string
	Declared bool // the tool was declared
	Old, New Verdict
	Reason   engine.Reason // primary one of New, with its rule's place
	Was      engine.Reason // primary one of Old
	Targets  []Object      // what the call touches
	Size     int           // bytes of the input: the smaller, the better it is to read
}

// Object is one target of a call, as reports show it.
type Object struct {
	Param  string
	Access string
	Path   string // as asked for when nothing was found there, else canonical
}
