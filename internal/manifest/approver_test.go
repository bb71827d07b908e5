package manifest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

// testKeys are verifier keys by whose they are: two of alice, one of bob, one of
// alice that says carol; and alice's private key.
func testKeys(t testing.TB) map[string]string {
	t.Helper()
	keys := map[string]string{}
	add := func(whose, name string, seed byte) (secret string) {
		secret, public, err := note.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{seed}, 64)), name)
		if err != nil {
			t.Fatal(err)
		}
		keys[whose] = public
		return secret
	}
	keys["secret"] = add("alice", "alice", 1)
	add("alice 2", "alice", 2)
	add("bob", "bob", 3)
	add("alice as carol", "carol", 1)
	return keys
}

func withApprovers(list ...string) Source {
	data, _ := json.Marshal(map[string]any{"schema_version": 1, "tools": map[string]any{}, "approvers": list})
	return Source{Name: "tools.json", Data: data}
}

func TestApprovers(t *testing.T) {
	keys := testKeys(t)
	set := mustLoad(t, []Source{withApprovers(keys["alice"], keys["bob"])})
	if want := []Approver{{"alice", keys["alice"]}, {"bob", keys["bob"]}}; !reflect.DeepEqual(set.Approvers, want) {
		t.Errorf("got %v, want %v", set.Approvers, want)
	}
	revisions := []string{
		set.Revision,
		mustLoad(t, []Source{withApprovers(keys["alice"])}).Revision,
		load(t, "tools.json", `{"schema_version":1,"tools":{}}`).Revision,
	}
	if slices.Sort(revisions); len(slices.Compact(revisions)) != 3 {
		t.Error("approvers do not count in the revision")
	}
}

func TestApproverRefusals(t *testing.T) {
	keys := testKeys(t)
	const noKey = "(name+hash+key, as `runlens approver show NAME` prints it)"
	for _, c := range []struct {
		name string
		list []string
		want string
	}{
		{"empty", []string{}, "approvers is empty (leave it out: then approvals count unsigned)"},
		{"no key", []string{keys["bob"], "alice"}, "approver 2 is no verifier key " + noKey},
		{"wrong hash", []string{strings.Replace(keys["alice"], "alice", "alicia", 1)}, "approver 1 is no verifier key " + noKey},
		{"newline", []string{keys["alice"] + "\n"}, "approver 1 is no verifier key " + noKey},
		{"twice", []string{keys["alice"], keys["alice"]}, `approver "alice" is there twice (a second key needs a name of its own)`},
		{"second key", []string{keys["alice"], keys["alice 2"]}, `approver "alice" is there twice (a second key needs a name of its own)`},
		{"two names", []string{keys["alice"], keys["alice as carol"]}, `approver "carol" has the key of another (one key, one person)`},
		{"private", []string{keys["secret"]}, "approver 1 is a private key (put its verifier key here, and make a new pair: this one is no secret any more)"},
	} {
		got := refusals(t, withApprovers(c.list...))
		if want := []string{"load tools.json:1: " + c.want}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.name, got, want)
		}
		for _, key := range c.list {
			if len(key) > 10 && strings.Contains(strings.Join(got, ""), key[len(key)-10:]) {
				t.Errorf("%s: a key is shown", c.name)
			}
		}
	}
	for data, want := range map[string]string{
		`{"schema_version":1,"tools":{},"approvers":"x"}`: "approvers must be a list, not a string",
		`{"schema_version":1,"tools":{},"approvers":[7]}`: "approver 1 must be a string, not a number " + noKey,
	} {
		if got := refusals(t, Source{Name: "tools.json", Data: []byte(data)}); !slices.Equal(got, []string{"load tools.json:1: " + want}) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	two := refusals(t, withApprovers(keys["alice"]), Source{Name: "tools.yaml", Data: []byte("schema_version: 1\ntools: {}\napprovers: [\"" + keys["bob"] + "\"]\n")})
	if want := []string{"load tools.yaml:3: approvers is set twice, first in tools.json:1"}; !slices.Equal(two, want) {
		t.Errorf("got %q, want %q", two, want)
	}
}
