package call

import (
	"strings"
	"testing"
)

func TestCaseVariant(t *testing.T) {
	many := strings.Split(strings.Repeat("x ", 20), " ")
	for _, tt := range []struct {
		keys  []string
		a, b  string
		found bool
	}{
		{nil, "", "", false},
		{[]string{"path", "paths", "pat"}, "", "", false},
		{[]string{"path", "path"}, "", "", false},
		{[]string{"x", "path", "y", "PATH", "Path"}, "path", "PATH", true},
		{[]string{"k", "\u212a"}, "k", "\u212a", true},
		{[]string{"\u017f", "S"}, "\u017f", "S", true},
		{[]string{"Ω", "ω"}, "Ω", "ω", true},
		{[]string{"straße", "STRASSE"}, "", "", false}, // simple folding keeps lengths
		{[]string{"i", "İ"}, "", "", false},
		{append(many, "path", "paths"), "", "", false},
		{append(many, "path", "y", "PATH", "Path"), "path", "PATH", true},
		{append(many, "k", "\u212a"), "k", "\u212a", true},
		{append(many, "σ", "ς"), "σ", "ς", true},
	} {
		if a, b, found := CaseVariant(tt.keys); a != tt.a || b != tt.b || found != tt.found {
			t.Errorf("CaseVariant(%q) = %q, %q, %v; want %q, %q, %v", tt.keys, a, b, found, tt.a, tt.b, tt.found)
		}
	}
}
