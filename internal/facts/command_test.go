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

func TestPartCovers(t *testing.T) {
	word := func(w string) facts.Part { return facts.Part{Kind: facts.Word, Word: w} }
	choice := func(v ...string) facts.Part { return facts.Part{Kind: facts.Choice, Arg: "c", Values: v} }
	text := func(p string) facts.Part { return facts.Part{Kind: facts.Text, Arg: "t", Pattern: p} }
	anywhere := facts.Part{Kind: facts.Path, Arg: "p", Root: "data", Access: facts.Read}
	for _, c := range []struct {
		p, q facts.Part
		want bool
	}{
		{anywhere, word("a"), true},
		{anywhere, choice("a", "b"), true},
		{anywhere, text("^(?:a)$"), true},
		{anywhere, facts.Part{Kind: facts.Path, Arg: "q", Root: "logs", Access: facts.Write}, true},
		{text("^(?:[a-z]+)$"), facts.Part{Kind: facts.Text, Arg: "u", Pattern: "^(?:[a-z]+)$"}, true},
		{text("^(?:[a-z]+)$"), text("^(?:[a-y]+)$"), false}, // true, but not by its text
		{text("^(?:[a-z]+)$"), word("ab"), true},
		{text("^(?:[a-z]+)$"), word("AB"), false},
		{text("^(?:[a-z]+)$"), choice("a", "b"), true},
		{text("^(?:[a-z]+)$"), choice("a", "B"), false},
		{text("^(?:(?s:.*))$"), anywhere, false},
		{text("("), word("a"), false},
		{choice("a", "b"), word("b"), true},
		{choice("a", "b"), word("c"), false},
		{choice("a", "b"), choice("b"), true},
		{choice("a", "b"), choice("b", "c"), false},
		{choice("a", "b"), text("^(?:a)$"), false},
		{choice("a", "b"), anywhere, false},
		{word("a"), word("a"), true},
		{word("a"), word("b"), false},
		{word("a"), choice("a"), true},
		{word("a"), choice("a", "a"), true},
		{word("a"), choice("a", "b"), false},
		{word("a"), text("^(?:a)$"), false},
		{word("a"), anywhere, false},
		{facts.Part{Kind: "?"}, word("a"), false},
		{anywhere, facts.Part{Kind: "?"}, true},
		{word("a"), facts.Part{Kind: "?"}, false},
	} {
		if got := c.p.Covers(c.q); got != c.want {
			t.Errorf("%+v covers %+v: %v, want %v", c.p, c.q, got, c.want)
		}
	}
}
