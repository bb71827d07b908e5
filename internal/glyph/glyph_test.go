package glyph

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// ranges are characters that nobody sees, by where the standard says so.
var ranges = []struct {
	why      string
	from, to rune
}{
	{"controls", 0, 0x1f},
	{"controls", 0x7f, 0x9f},
	{"soft hyphen", 0xad, 0xad},
	{"joins graphemes", 0x34f, 0x34f},
	{"Arabic number signs", 0x600, 0x605},
	{"Arabic letter mark", 0x61c, 0x61c},
	{"Hangul fillers", 0x115f, 0x1160},
	{"Khmer inherent vowels", 0x17b4, 0x17b5},
	{"Mongolian selectors", 0x180b, 0x180f},
	{"zero width, joiners, directions", 0x200b, 0x200f},
	{"line and paragraph, embeddings", 0x2028, 0x202e},
	{"invisible operators, isolates, deprecated", 0x2060, 0x206f},
	{"Hangul filler", 0x3164, 0x3164},
	{"surrogates", 0xd800, 0xdfff},
	{"private", 0xe000, 0xf8ff},
	{"no characters", 0xfdd0, 0xfdef},
	{"selectors", 0xfe00, 0xfe0f},
	{"byte order mark", 0xfeff, 0xfeff},
	{"half-width Hangul filler", 0xffa0, 0xffa0},
	{"ignorable, annotations", 0xfff0, 0xfffb},
	{"no characters", 0xfffe, 0xffff},
	{"shorthand controls", 0x1bca0, 0x1bca3},
	{"beams and slurs", 0x1d173, 0x1d17a},
	{"no characters", 0x1fffe, 0x1ffff},
	{"tags and selectors", 0xe0000, 0xe0fff},
	{"private", 0xf0000, 0x10ffff},
}

func TestHidden(t *testing.T) {
	for _, in := range ranges {
		for r := in.from; r <= in.to; r++ {
			if Shows(r) {
				t.Errorf("%s: %U shows", in.why, r)
			}
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if Shows(r) && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) {
			t.Errorf("%U shows", r)
		}
	}
}

// seen is text of many scripts, each character of which stays as it is.
const seen = "aé ñ\u00a0ß Ωж א ب ा ก ខ 한 漢字 かな カナ\u3000、。「ｱ」 e\u0301 👩💻🏽❤ €™ ½ ⠿ 𝄞 𐍈\ufffd"

func TestSeen(t *testing.T) {
	for _, r := range seen {
		if !Shows(r) {
			t.Errorf("%U %c does not show", r, r)
		}
	}
}

// JSON in which nothing is hidden means what it meant.
func TestJSON(t *testing.T) {
	texts := []string{seen, "\"\\/\u0001\n\t"}
	for _, in := range ranges {
		for r := in.from; r <= in.to && r < in.from+0x400; r++ {
			texts = append(texts, "a"+string(r)+"b")
		}
	}
	for _, indent := range []string{"", "  "} {
		var before bytes.Buffer
		enc := json.NewEncoder(&before)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", indent)
		if err := enc.Encode(map[string]any{"texts": texts, "k\u202e\U000e0041": 1}); err != nil {
			t.Fatal(err)
		}
		after := JSON(before.Bytes(), Hidden)
		if at := strings.IndexFunc(string(after), Hidden); at >= 0 {
			t.Errorf("%q came through", after[at:min(len(after), at+20)])
		}
		var a, b any
		if json.Unmarshal(before.Bytes(), &a) != nil || json.Unmarshal(after, &b) != nil {
			t.Fatalf("it is no JSON: %s", after)
		}
		one, _ := json.Marshal(a)
		two, _ := json.Marshal(b)
		if !bytes.Equal(one, two) {
			t.Error("it means something else")
		}
	}
	if got := JSON([]byte(`{"a":"`+seen+`"}`), Hidden); string(got) != `{"a":"`+seen+`"}` {
		t.Errorf("what is seen became %s", got)
	}
}

func TestQuote(t *testing.T) {
	for _, in := range ranges {
		for r := in.from; r <= in.to && r < in.from+0x400; r++ {
			text := "a" + string(r) + `"b`
			quoted := Quote(text)
			if back, err := strconv.Unquote(quoted); back != text || err != nil || strings.ContainsFunc(quoted, func(r rune) bool { return !Shows(r) }) {
				t.Errorf("%q", quoted)
			}
		}
	}
	if got := Quote("é\ufe0f漢\xff"); got != `"é\ufe0f漢\xff"` {
		t.Error(got)
	}
}
