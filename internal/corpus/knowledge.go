package corpus

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/engine"
)

// knowledge is what the data of the two policies says about where verdicts may
// change: names, limits and budgets of both.
type knowledge struct {
	twoViews bool // the settings differ in what facts depend on

	names   []string // file names that one of them refuses, or would but for an ending that makes them harmless
	secrets []secret
	reads   []int64 // limits on bytes that are read
	writes  []int64
	long    int // bytes of a string that neither records
	retries []int64
	budgets map[string]map[string][]int64 // by door, by counter: limits
}

// secret is a text that one of the policies takes for a secret.
type secret struct{ kind, text string }

func knowledgeOf(old, new *engine.Engine) (*knowledge, error) {
	a, b := old.Settings(), new.Settings()
	k := &knowledge{
		twoViews: !reflect.DeepEqual(seen(a), seen(b)),
		reads:    both(a.ReadBytes, b.ReadBytes), writes: both(a.WriteBytes, b.WriteBytes),
		long:    int(min(max(a.WithheldBytes, b.WithheldBytes, a.CommandBytes, b.CommandBytes), 1<<20)) + 1,
		budgets: map[string]map[string][]int64{},
	}
	for _, s := range []engine.Settings{a, b} {
		k.addNames(s.Names)
		k.addSecrets(s.Secrets)
	}
	for _, door := range doors {
		was, is := a.BudgetOf(door), b.BudgetOf(door)
		k.budgets[door] = map[string][]int64{
			"in_row": both(was.InRow, is.InRow), "total": both(was.Total, is.Total), "malformed": both(was.Malformed, is.Malformed),
		}
	}
	for _, e := range []*engine.Engine{old, new} {
		data, err := e.Data()
		if err != nil {
			return nil, err
		}
		plan, _ := data["plan"].(map[string]any)
		if n, is := plan["retries"].(json.Number); is {
			if limit, err := n.Int64(); err == nil && !slices.Contains(k.retries, limit) {
				k.retries = append(k.retries, limit)
			}
		}
	}
	if len(k.retries) == 0 {
		k.retries = []int64{3}
	}
	slices.Sort(k.retries)
	return k, nil
}

// doors are the ways in which calls come.
var doors = []string{"cli", "hook", "mcp"}

// seen is the part of the settings that facts depend on.
func seen(s engine.Settings) any {
	secrets := map[string]string{}
	for _, x := range s.Secrets {
		secrets[x.Kind] = x.Pattern.String()
	}
	return []any{s.WithheldBytes, s.CommandBytes, s.Names, secrets}
}

// both are two limits, in order, each once.
func both(a, b int64) []int64 {
	list := []int64{a, b}
	slices.Sort(list)
	return slices.Compact(list)
}

// addNames adds a name for each pattern, and one that an ending makes harmless for
// each such ending.
func (k *knowledge) addNames(n engine.Names) {
	add := func(name string) {
		if name != "" && !strings.ContainsAny(name, "/\x00") && len(name) < 200 && !slices.Contains(k.names, name) {
			k.names = append(k.names, name)
		}
	}
	for _, name := range n.Exact {
		add(name)
	}
	for _, name := range n.Prefix {
		add(name + "x")
	}
	for _, name := range n.Suffix {
		add("x" + name)
	}
	for _, ending := range n.Allowed {
		for _, name := range slices.Concat(n.Exact, n.Prefix)[:min(1, len(n.Exact)+len(n.Prefix))] {
			add(name + ending)
		}
	}
}

func (k *knowledge) addSecrets(list []engine.Secret) {
	have := map[string]string{}
	for _, s := range k.secrets {
		have[s.text] = s.kind
	}
	for _, s := range list {
		if text, ok := matching(s.Pattern.String()); ok && have[text] == "" {
			name := s.Kind
			if slices.Contains(slices.Collect(maps.Values(have)), name) {
				name += "_new"
			}
			k.secrets = append(k.secrets, secret{name, text})
		}
	}
}
