package resolve

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/facts"
)

// flags names what is set, in the words of the input document.
func flags(l facts.Lexical) string {
	var out []string
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		if v.Field(i).Bool() {
			out = append(out, v.Type().Field(i).Tag.Get("json"))
		}
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}

func TestLexical(t *testing.T) {
	long := strings.Repeat("x", 256)
	for raw, want := range map[string]string{
		// Ordinary names, however they look.
		"f.txt": "", "src/app/main.go": "", "d//f.txt": "", "./d/./f.txt": "", "d/": "", ".": "",
		"100%.txt": "", "50%20off.md": "", "100%25.txt": "", "a%zz": "", "%": "", "%%": "",
		"[id].tsx": "", "app/[...slug]/page.tsx": "", "(group)/x": "", "$lib/x.ts": "", "$id.tsx": "", "a$b": "", "Foo$Bar.class": "", "$": "", "a$": "", "$1": "",
		"C++.txt": "", "foo~": "", "a~b": "", "file.txt.~1~": "", "foo~bar": "", "naïve café.txt": "", "Ünïcödé": "",
		"отчёт.txt": "", "日本語/ファイル.md": "", "ملف.txt": "", "קובץ.txt": "", "हिन्दी.txt": "", "می\u200cخواهم.txt": "", "क्\u200dष.txt": "",
		"👩\u200d💻.md": "", "❤\ufe0f.txt": "", "🏳\ufe0f\u200d🌈.txt": "",
		"Screenshot 2024-01-01 at 1.00.00\u202fPM.png": "", "12:30.log": "", "Title: more.md": "", "v1.2:rc": "", "2024-01-01T10:00:00.txt": "",
		"environment.ts": "", "console.log": "", "auxiliary.c": "", "nully": "", "com.txt": "", "COM10": "", "lpt": "", "what?.md": "", "'q\"": "",
		"-rf": "", "#x#": "", "a&b;c|d": "", "{a,b}": "", "foo...bar": "", "..foo": "", "...x": "", " lead": "", "a b": "",

		"/etc/passwd": "absolute", "/": "absolute", "/..": "absolute parent_segment",
		"..": "parent_escape parent_segment", "../x": "parent_escape parent_segment", "d/../f": "parent_segment",
		"d/../../x": "parent_escape parent_segment", "a/b/../../c": "parent_segment", "./../x": "parent_escape parent_segment",
		`a\b`: "backslash", `..\x`: "backslash parent_escape parent_segment", `bs\..\x`: "backslash parent_segment", `\x`: "backslash",
		`C:\f.txt`: "backslash drive", "C:": "drive", "c:f": "drive", "C:/x": "drive", "a:b": "drive",
		`\\host\share`: "backslash drive", `\\?\C:\x`: "backslash drive", `\??\C:\x`: "backslash drive", "//host/x": "absolute drive", "///x": "absolute",
		"~": "tilde", "~/f": "tilde", "~root/x": "tilde", "~-": "tilde", "d/~/x": "",
		"f.txt\x00.png": "nul", "a\nb": "control", "a\x1bb": "control", "a\x7fb": "control", "a\u0085b": "control",
		"a\u200bb": "invisible", ".env\u200b": "invisible", ".e\u200dnv": "invisible", "a\u202eb": "invisible", "a\u00adb": "invisible", "a\ufe0fb": "invisible",
		"a\u3164b": "invisible", "a\u2028b": "invisible", "a\U000e0041b": "invisible", "\ufeffa": "invisible", "дом\u200b": "invisible", "ｅ\u200dｎ": "invisible",
		"bad\xff": "bad_utf8", "ok\ufffd": "",
		"%2e%2e/x": "percent_encoded", "%2E": "percent_encoded", "a%2fb": "percent_encoded", "a%5Cb": "percent_encoded", "a%00": "percent_encoded",
		"%252e": "percent_encoded", "%25252F": "percent_encoded", "%c0%af": "percent_encoded", "%u002f": "percent_encoded",
		"file:///srv/f": "url", "https://x/y": "url", "file:/x": "url", "git+ssh://x": "url", "a/b://c": "", "://x": "",
		"": "empty", long: "too_long", "d/" + long: "too_long", strings.Repeat("a/", 2048): "too_long", strings.Repeat("x", 255): "",
		"f.txt.": "trailing_dot_space", "f.txt ": "trailing_dot_space", "f.txt . .": "trailing_dot_space", "...": "trailing_dot_space", "d./f": "trailing_dot_space", " ": "trailing_dot_space",
		"NUL": "reserved_name", "con.txt": "reserved_name", "COM1 ": "reserved_name trailing_dot_space", "d/aux/x": "reserved_name", "LPT¹": "reserved_name", "nul:x": "reserved_name", "CONIN$": "reserved_name",
		"f.txt::$DATA": "stream_name", "f.txt:s": "stream_name", "dir:$I30:$INDEX_ALLOCATION": "stream_name", "x:s:$DATA": "drive stream_name", "xx:s:$DATA": "stream_name", ".env:x": "stream_name", ".env::$DATA": "stream_name", "f.txt:": "",
		"ENV~1": "short_name", "PROGRA~1/x": "short_name", "a~1.txt": "short_name", "ENV~1.toolong": "", "toolongname~1": "", "foo~1x": "",
		"$HOME/f": "expansion", "${x}": "expansion", "a$(x)": "expansion", "`x`": "expansion", "*.txt": "expansion", `%USERPROFILE%\x`: "backslash expansion", "$env:TEMP/x": "expansion", "a/$PWD": "expansion",
	} {
		if got := flags(Lexical(raw)); got != want {
			t.Errorf("%.60q: %q, want %q", raw, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	for name, want := range map[string]string{
		".env": ".env", ".ENV": ".env", ".Env.Local": ".env.local", ".env ": ".env", ".env.": ".env", ".env. .": ".env", ".env\u200b": ".env",
		".e\u200dnv": ".env", "．env": ".env", "．ｅｎｖ": ".env", ".env::$DATA": ".env", ".env:x": ".env", "\u00a0.env": ".env", "\u3000.env\u2003": ".env",
		".en\u00adv": ".env", ".env\ufe0f": ".env", "\u202e.env": ".env", ".env\u3164": ".env", ".\u0435nv": ".\u0435nv", ".env\x1b": ".env", ".ENV：x": ".env",
		"․env": ".env", ".𝐞𝐧𝐯": ".env", ".ⓔⓝⓥ": ".env", ".env~": ".env~", ".env.bak": ".env.bak", ".env\U000e0020": ".env", ".env\t": ".env",
		"café.txt": "café.txt", "cafe\u0301.txt": "café.txt", "CAFÉ.TXT": "café.txt", "\u212a": "k", "Ⅷ": "viii", "ﬁle": "file",
		"": "", ".": "", "..": "", " ": "", ":": "", "...": "", "bad\xff": "bad\ufffd", "A B": "a b", "\u1160": "", "İ": "i",
	} {
		if got := Fold(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestFoldSegments(t *testing.T) {
	for p, want := range map[string]string{
		"a/b": "a b", `a\.ENV`: "a .env", "./a/../b//": "a b", `x:y\.env`: "x .env", "a／.env": "a .env", "a＼.env": "a .env", "/": "", "a/ /b": "a b", "℅": "c o",
	} {
		if got := strings.Join(foldSegments(nil, p), " "); got != want {
			t.Errorf("%q: %q, want %q", p, got, want)
		}
	}
}

func FuzzLexical(f *testing.F) {
	for _, s := range []string{"", "a/b", `C:\x`, "%25%32%65", "$HOME", "~", "a\x00", "\xff", "x::$DATA", "ENV~1", "می\u200cخ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l := Lexical(s)
		if l != Lexical(s) {
			t.Fatal("not a function of its input")
		}
		if l.NUL != strings.Contains(s, "\x00") || l.Empty != (s == "") || l.BadUTF8 == utf8.ValidString(s) ||
			l.Absolute != strings.HasPrefix(s, "/") || l.Backslash != strings.Contains(s, `\`) {
			t.Fatalf("%q: %s", s, flags(l))
		}
		if l.ParentEscape && !l.ParentSegment {
			t.Fatalf("%q escapes without a parent segment", s)
		}
	})
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"", ".ENV", ".env ", "．ｅｎｖ", "cafe\u0301", "a:b", "\xff", "\u1160", "İ", ". :"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Fold(s)
		if again := Fold(got); again != got {
			t.Fatalf("%q: %q, then %q", s, got, again)
		}
		if !utf8.ValidString(got) || strings.ContainsAny(got, ":\x00\n") || strings.TrimRight(got, ". ") != got || strings.TrimSpace(got) != got {
			t.Fatalf("%q: %q", s, got)
		}
		if up := Fold(strings.ToUpper(got)); utf8.RuneCountInString(got) == len(got) && up != got {
			t.Fatalf("%q: upper case folds to %q", got, up)
		}
		for _, p := range foldSegments(nil, s) {
			if p == "" || strings.ContainsAny(p, `/\`) {
				t.Fatalf("%q: segment %q", s, p)
			}
		}
	})
}

func BenchmarkLexical(b *testing.B) {
	for _, p := range []string{"workspace/src/app/handlers/main.go", "workspace/日本語/отчёт.txt"} {
		b.Run(fmt.Sprintf("%d_bytes_%v", len(p), isASCII(p)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Lexical(p)
			}
		})
	}
}

func BenchmarkFold(b *testing.B) {
	for _, s := range []string{"main.go", "Makefile", "отчёт.txt"} {
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fold(s)
			}
		})
	}
}

// Every value that went into a path is judged, and no flag is forgotten.
func TestLexicalOfValues(t *testing.T) {
	if l := (&Request{Raw: "a", Values: []string{"b", "100%.txt"}}).Lexical(); l != (facts.Lexical{}) {
		t.Errorf("ordinary values: %+v", l)
	}
	odd := []string{
		"/a", "../a", `a\b`, "c:x", "~a", "a\x00", "a\x01", "a\u200bb", "a\xff", "%2e%2e", "http://x", "",
		strings.Repeat("x", 256), "a.", "con", "f.txt:s", "env~1", "$(x)",
	}
	all := reflect.ValueOf((&Request{Raw: "a", Values: odd}).Lexical())
	for i := range all.NumField() {
		if !all.Field(i).Bool() {
			t.Errorf("%s is not set by %q", all.Type().Field(i).Name, odd)
		}
	}
	for _, v := range odd {
		if got, want := (&Request{Raw: "a", Values: []string{"b", v}}).Lexical(), Lexical(v); got != want {
			t.Errorf("%q beside others: %+v, want %+v", v, got, want)
		}
		if got, want := (&Request{Raw: v, Values: []string{"b"}}).Lexical(), Lexical(v); got != want {
			t.Errorf("%q as the raw value: %+v, want %+v", v, got, want)
		}
	}
}
