package facts_test

import (
	"slices"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

func TestPart(t *testing.T) {
	for _, c := range []struct {
		part  facts.Part
		shown string
		takes []string
		not   []string
	}{
		{facts.Part{Kind: facts.Word, Word: "-m"}, "-m", []string{"-m"}, []string{"", "-M", "-m "}},
		{facts.Part{Kind: facts.Word, Word: "a b"}, "'a b'", []string{"a b"}, []string{"'a b'"}},
		{facts.Part{Kind: facts.Word, Word: "{x}"}, "'{x}'", []string{"{x}"}, []string{"x"}},
		{facts.Part{Kind: facts.Path, Arg: "path", Root: "ws/tests", Access: facts.Read}, "{path in ws/tests}", []string{"", "ws/tests/a", "/etc"}, nil},
		{facts.Part{Kind: facts.Path, Arg: "out", Root: "build", Access: facts.Write}, "{out written in build}", []string{"x"}, nil},
		{facts.Part{Kind: facts.Choice, Arg: "mode", Values: []string{"a", "b"}}, "{mode: a|b}", []string{"a", "b"}, []string{"", "ab", "A"}},
		{facts.Part{Kind: facts.Text, Arg: "n", Pattern: "^(?:[0-9]+)$"}, "{n like [0-9]+}", []string{"12"}, []string{"", "1\n", "\n1", "x1"}},
		{facts.Part{Kind: facts.Text, Arg: "n", Pattern: "("}, "{n like (}", nil, []string{"("}},
		{facts.Part{}, "''", nil, []string{""}},
	} {
		if got := c.part.String(); got != c.shown {
			t.Errorf("shown as %q, want %q", got, c.shown)
		}
		for _, arg := range c.takes {
			if !c.part.Takes(arg) {
				t.Errorf("%s does not take %q", c.shown, arg)
			}
		}
		for _, arg := range c.not {
			if c.part.Takes(arg) {
				t.Errorf("%s takes %q", c.shown, arg)
			}
		}
	}
}

func TestCommandLines(t *testing.T) {
	tool := facts.Tool{
		Commands: [][]string{{"make"}, {"sh", "-c", "a b"}},
		Patterns: [][]facts.Part{{{Kind: facts.Word, Word: "wc"}, {Kind: facts.Path, Arg: "file", Root: "data"}}},
	}
	if got := tool.CommandLines(); !slices.Equal(got, []string{"make", "sh -c 'a b'", "wc {file in data}"}) {
		t.Errorf("got %q", got)
	}
}
