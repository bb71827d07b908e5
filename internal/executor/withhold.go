package executor

import (
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
)

// withholder takes out of a call what must not be recorded: strings that are
// too long and strings that look like a secret. It is the one place where this
// is done; what leaves it is what policy judges and what the ledger holds.
type withholder struct {
	limit        int             // bytes of an ordinary string
	commandLimit int             // bytes of a command's words
	kinds        []engine.Secret // sorted by kind
}

func newWithholder(s engine.Settings) *withholder {
	return &withholder{limit: int(s.WithheldBytes), commandLimit: int(s.CommandBytes), kinds: s.Secrets}
}

// scan names the secret kinds found in text, sorted; never nil.
func (w *withholder) scan(text string) []string {
	kinds := []string{}
	for _, k := range w.kinds {
		if k.Pattern.MatchString(text) {
			kinds = append(kinds, k.Kind)
		}
	}
	return kinds
}

func (w *withholder) scanBytes(data []byte) []string {
	kinds := []string{}
	for _, k := range w.kinds {
		if k.Pattern.Match(data) {
			kinds = append(kinds, k.Kind)
		}
	}
	return kinds
}

// inNames says which name of a call looks like a secret, "" when none does.
func (w *withholder) inNames(c *call.Call) string {
	for _, n := range []struct{ where, text string }{{"name", c.Name}, {"call_id", c.ID}, {"id", c.ClientID}} {
		if len(w.scan(n.text)) > 0 {
			return n.where
		}
	}
	return ""
}

// message is text that goes into the ledger: what a stage says about a call may
// quote a key or a header, and a key may be a secret.
func (w *withholder) message(text, instead string) string {
	if len(w.scan(text)) > 0 {
		return instead + " (what it said is withheld: it holds what looks like a secret)"
	}
	return text
}

// arguments returns args without the payload parameters and with every string
// that must not be recorded replaced by "". args itself is not changed; what
// needs no change is shared with it.
func (w *withholder) arguments(args map[string]any, payload []string, command bool) (map[string]any, []facts.Withheld) {
	withheld := []facts.Withheld{}
	limit := w.limit
	if command {
		limit = w.commandLimit
	}
	out := make(map[string]any, len(args))
	for name, v := range args {
		if !slices.Contains(payload, name) {
			out[name] = v
		}
	}
	clean, changed := w.object(out, "", limit, &withheld)
	if changed {
		out = clean
	}
	sort.Slice(withheld, func(i, j int) bool { return withheld[i].Pointer < withheld[j].Pointer })
	return out, withheld
}

func (w *withholder) value(v any, pointer string, limit int, withheld *[]facts.Withheld) (any, bool) {
	switch v := v.(type) {
	case string:
		kinds := w.scan(v)
		if len(v) <= limit && len(kinds) == 0 {
			return v, false
		}
		*withheld = append(*withheld, facts.Withheld{Pointer: pointer, Bytes: int64(len(v)), Kinds: kinds})
		return "", true
	case []any:
		var out []any
		for i, e := range v {
			clean, changed := w.value(e, pointer+"/"+strconv.Itoa(i), limit, withheld)
			if changed && out == nil {
				out = slices.Clone(v)
			}
			if changed {
				out[i] = clean
			}
		}
		if out == nil {
			return v, false
		}
		return out, true
	case map[string]any:
		return w.object(v, pointer, limit, withheld)
	}
	return v, false
}

// object withholds values, and the whole object when a key is one of the
// strings that must not be recorded: a key cannot be blanked alone.
func (w *withholder) object(v map[string]any, pointer string, limit int, withheld *[]facts.Withheld) (map[string]any, bool) {
	for key := range v {
		if kinds := w.scan(key); len(key) > limit || len(kinds) > 0 {
			*withheld = append(*withheld, facts.Withheld{Pointer: pointer + "/*", Bytes: int64(len(key)), Kinds: kinds})
			return map[string]any{}, true
		}
	}
	var out map[string]any
	for key, e := range v {
		clean, changed := w.value(e, pointer+"/"+escapePointer(key), limit, withheld)
		if changed && out == nil {
			out = make(map[string]any, len(v))
			for k, e := range v {
				out[k] = e
			}
		}
		if changed {
			out[key] = clean
		}
	}
	if out == nil {
		return v, false
	}
	return out, true
}

// escapePointer escapes a key for a JSON pointer (RFC 6901).
func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// knownAs is what the sender of bytes that were not admitted calls them. It is
// for the answer alone and never recorded.
type knownAs struct{ name, id string }

// known is what err, from call.Admit, can say of the call; a name that looks
// like a secret is not repeated.
func (w *withholder) known(err error) (k knownAs) {
	var bad *call.Malformed
	if !errors.As(err, &bad) {
		return k
	}
	if len(w.scan(bad.Name)) == 0 {
		k.name = bad.Name
	}
	if len(w.scan(bad.ID)) == 0 {
		k.id = bad.ID
	}
	return k
}

// or puts what is known in the place of what the run calls it.
func (k knownAs) or(callID, tool string) (string, string) {
	if k.id != "" {
		callID = k.id
	}
	if k.name != "" {
		tool = k.name
	}
	return callID, tool
}
