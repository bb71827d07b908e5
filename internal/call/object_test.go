package call

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestObject(t *testing.T) {
	got, err := Object([]byte(" {\"a\":1.50,\"b\":{\"c\":[null,true,\"\\u00e9\"]}}\n"), "answer")
	want := map[string]any{"a": json.Number("1.50"), "b": map[string]any{"c": []any{nil, true, "é"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Object([]byte(strings.Repeat(`{"a":`, MaxDepth-1)+"{}"+strings.Repeat("}", MaxDepth-1)), "answer"); err != nil {
		t.Errorf("at the deepest: %v", err)
	}
	for _, c := range []struct{ raw, rule, place string }{
		{"", ruleEmpty, "answer"},
		{" \n", ruleEmpty, "answer"},
		{"done", ruleSyntax, "answer"},
		{`"done"`, ruleNotAnObject, "answer"},
		{"[{}]", ruleNotAnObject, "answer"},
		{"{} {}", ruleTrailingData, "answer"},
		{"{}\nbye", ruleTrailingData, "answer"},
		{`{"a":1,"\u0061":2}`, ruleDuplicateKey, "answer"},
		{"{\"a\":\"\xff\"}", ruleBadUTF8, "answer"},
		{`{"a":{"b":NaN}}`, ruleSyntax, "answer"},
		{`{"Jane Roe\u0001":1}`, ruleControlInKey, "answer"},
		{`{"Jane Roe":1,"Jane Roe":2}`, ruleDuplicateKey, "answer"},
		{`{"Jane Roe":[1,{"Jane":1,]}`, ruleSyntax, "answer"},
		{`{"n":99999999999999999999,"Jane":1}`, ruleNumberRange, "answer"},
		{"\ufeff{}", ruleBOM, "answer"},
		{strings.Repeat(`{"a":`, MaxDepth) + "{}" + strings.Repeat("}", MaxDepth), ruleTooDeep, "answer"},
		{`{"a":"` + strings.Repeat("x", MaxBytes) + `"}`, ruleTooLarge, "answer"},
	} {
		_, err := Object([]byte(c.raw), "answer")
		var bad *Malformed
		if !errors.As(err, &bad) || bad.Rule != c.rule || bad.Pointer != c.place {
			t.Errorf("%.40q: %v, want %s at %s", c.raw, err, c.rule, c.place)
		}
		if strings.Contains(err.Error(), "Jane") || !strings.Contains(err.Error(), "(byte ") {
			t.Errorf("%.40q: it repeats a key, or names no byte: %v", c.raw, err)
		}
	}
}
