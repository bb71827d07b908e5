package handlers

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, text, term, match string
		want                    string // the part of the text that matches; "" none
	}{
		{"plain", "The app crashes", "crash", matchPart, "crash"},
		{"case", "CRASHED twice", "crash", matchPart, "CRASH"},
		{"first of several", "crash, Crash", "CRASH", matchPart, "crash"},
		{"not there", "crash", "freeze", matchPart, ""},
		{"umlaut in capitals", "ABSTÜRZE beim Öffnen", "abstürze", matchPart, "ABSTÜRZE"},
		{"umlaut composed, text decomposed", "die A\u0308nderung", "änderung", matchPart, "A\u0308nderung"},
		{"umlaut decomposed, text composed", "die Änderung", "a\u0308nderung", matchPart, "Änderung"},
		{"umlaut is no vowel", "schön", "schon", matchPart, ""},
		{"a letter is not cut from its mark", "scho\u0308n", "scho", matchPart, ""},
		{"sharp s", "das ist GROSS", "groß", matchPart, "GROSS"},
		{"sharp s in the text", "Straße 5", "strasse", matchPart, "Straße"},
		{"half a sharp s", "Straße", "stras", matchPart, ""},
		{"accent", "la CONEXIÓN falla", "conexión", matchPart, "CONEXIÓN"},
		{"accent counts", "la conexion falla", "conexión", matchPart, ""},
		{"Greek final sigma", "ΛΟΓΟΣ", "λόγος", matchPart, ""},
		{"Greek", "Λόγος", "ΛΌΓΟΣ", matchPart, "Λόγος"},
		{"Polish", "ZAWIESZA SIĘ", "zawiesza się", matchPart, "ZAWIESZA SIĘ"},
		{"Kelvin sign", "5 \u212a", "k", matchPart, "\u212a"},
		{"Japanese", "アプリが落ちる", "落ちる", matchPart, "落ちる"},
		{"half width", "ｱﾌﾟﾘが落ちる", "アプリ", matchPart, "ｱﾌﾟﾘ"},
		{"full width", "ＷｉＦｉが切れる", "wifi", matchPart, "ＷｉＦｉ"},
		{"voiced mark", "ハ\u3099ク", "バグ", matchPart, ""},
		{"voiced mark composed", "ハ\u3099グ", "バグ", matchPart, "ハ\u3099グ"},
		{"ligature", "kein Proﬁl", "profil", matchPart, "Proﬁl"},
		{"half a ligature", "Proﬁl", "prof", matchPart, ""},
		{"emoji", "so slow 🐌🐌", "🐌", matchPart, "🐌"},
		{"line break", "does not\r\n  load", "not load", matchPart, "not\r\n  load"},
		{"no-break space", "does not\u00a0load", "not load", matchPart, "not\u00a0load"},
		{"spaces in the term", "does not load", "not  \t load", matchPart, "not load"},
		{"pattern is text", "a.c abc", "a.c", matchPart, "a.c"},
		{"pattern matches nothing", "abc", ".*", matchPart, ""},

		{"word", "an app, apps", "app", matchWord, "app"},
		{"inside a word", "happy apple", "app", matchWord, ""},
		{"word after a part", "apps: App", "app", matchWord, "App"},
		{"word with an umlaut after it", "Appö app", "app", matchWord, "app"},
		{"word with a mark after it", "appe\u0301 app\u0301", "app", matchWord, ""},
		{"words", "the sync error", "sync error", matchWord, "sync error"},
		{"word and underscore", "app_id", "app", matchWord, ""},
		{"term that ends in signs", "c++11", "c++", matchWord, "c++"},
		{"word at both ends", "app", "app", matchWord, "app"},
		{"Japanese has no breaks", "新しいアプリが好き", "アプリ", matchWord, "アプリ"},
		{"Latin word in Japanese", "新しいappが好き", "app", matchWord, "app"},
		{"Chinese", "付款失败了", "失败", matchWord, "失败"},

		{"cell", "Billing", "billing", matchCell, "Billing"},
		{"cell with white space", "  Billing\n", "billing", matchCell, "Billing"},
		{"not all of the cell", "Billing!", "billing", matchCell, ""},
		{"cell in Japanese", " 請求\u3000", "請求", matchCell, "請求"},
		{"empty cell", "", "x", matchCell, ""},
		{"blank cell", " \n", "x", matchCell, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fold(c.text)
			from, to, ok := f.find(strings.Trim(fold(c.term).text, " "), c.match)
			if got := c.text[from:to]; got != c.want || ok != (c.want != "") {
				t.Errorf("found %q, %t; want %q", got, ok, c.want)
			}
		})
	}
}

// Whatever the text: pieces of the folded form come from pieces of the original
// that follow each other, and what is found folds to the term.
func FuzzFold(f *testing.F) {
	for _, s := range []string{"Straße", "a\u0308 b", "ｱﾌﾟﾘ", "a \n\t b", "\u212a", "", " ", "e" + strings.Repeat("\u0301", 40), "İı", "\u0345", "각"} {
		f.Add(s, "a", uint8(0))
	}
	f.Fuzz(func(t *testing.T, text, term string, match uint8) {
		if !utf8.ValidString(text) || !utf8.ValidString(term) {
			return
		}
		g := fold(text)
		last := 0
		for i := range g.at {
			if g.from[i] < last || g.from[i] > len(text) || g.at[i] > len(g.text) {
				t.Fatalf("place %d: %v %v", i, g.at, g.from)
			}
			last = g.from[i]
		}
		want := strings.Trim(fold(term).text, " ")
		if want == "" {
			return
		}
		from, to, ok := g.find(want, []string{matchPart, matchWord, matchCell}[match%3])
		if !ok {
			return
		}
		if !utf8.ValidString(text[from:to]) || fold(text[from:to]).text != want {
			t.Fatalf("%q found in %q as %q, which folds to %q", want, text, text[from:to], fold(text[from:to]).text)
		}
	})
}
