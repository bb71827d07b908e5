package call

import (
	"errors"
	"strings"
	"testing"
)

// ours wraps arguments in our own shape; they start at byte 22.
func ours(arguments string) string { return `{"name":"t","arguments":` + arguments + `}` }

const argumentsAt = int64(len(`{"name":"t","arguments":`))

func nest(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

// TestMalformed holds one call for each way to break a rule: the rule, the
// place and the byte.
func TestMalformed(t *testing.T) {
	long := strings.Repeat("n", maxName+1)
	for _, tt := range []struct {
		name, raw     string
		rule, pointer string
		offset        int64
	}{
		// One value, in UTF-8.
		{"nothing", "", "empty", "", 0},
		{"blanks", " \r\n\t", "empty", "", 4},
		{"byte order mark", "\ufeff{}", "bom", "", 0},
		{"UTF-16", "\xff\xfe{\x00}\x00", "bad_utf8", "", 0},
		{"two values", `{"a":1}{"b":2}`, "trailing_data", "", 7},
		{"two values with a blank", `{"a":1} {"a":2}`, "trailing_data", "", 8},
		{"trailing brace", ours(`{}`) + "}", "trailing_data", "", argumentsAt + 3},
		{"trailing zero byte", ours(`{}`) + "\x00", "trailing_data", "", argumentsAt + 3},
		{"bad UTF-8 in a value", ours("{\"p\":\"a\xffb\"}"), "bad_utf8", "arguments.p", argumentsAt + 7},
		{"bad UTF-8 in a key", ours("{\"a\xffb\":1}"), "bad_utf8", "arguments", argumentsAt + 3},
		{"surrogate in UTF-8", ours("{\"p\":\"\xed\xa0\x80\"}"), "bad_utf8", "arguments.p", argumentsAt + 6},
		{"overlong slash", ours("{\"p\":\"..\xc0\xafx\"}"), "bad_utf8", "arguments.p", argumentsAt + 8},
		{"high half", ours(`{"p":"a\ud800"}`), "lone_surrogate", "arguments.p", argumentsAt + 7},
		{"low half", ours(`{"p":"\udc00"}`), "lone_surrogate", "arguments.p", argumentsAt + 6},
		{"halves the wrong way round", ours(`{"p":"\udc00\ud800"}`), "lone_surrogate", "arguments.p", argumentsAt + 6},
		{"high half and another escape", ours(`{"p":"\ud83d\u0041"}`), "lone_surrogate", "arguments.p", argumentsAt + 6},
		{"half in a key", ours(`{"\ud800":1}`), "lone_surrogate", "arguments", argumentsAt + 2},

		// JSON, strictly.
		{"cut short", `{"name":"t","arguments":{"p"`, "syntax", "arguments", 28},
		{"cut in a string", `{"name":"t`, "syntax", "name", 8},
		{"cut in an escape", `{"name":"t\`, "syntax", "name", 8},
		{"trailing comma in an object", ours(`{"a":1,}`), "syntax", "arguments", argumentsAt + 7},
		{"trailing comma in an array", ours(`{"a":[1,]}`), "syntax", "arguments.a[1]", argumentsAt + 8},
		{"comma alone", ours(`{"a":[,]}`), "syntax", "arguments.a[0]", argumentsAt + 6},
		{"no comma", ours(`{"a":[1 2]}`), "syntax", "arguments.a", argumentsAt + 8},
		{"no colon", ours(`{"a" 1}`), "syntax", "arguments", argumentsAt + 5},
		{"bare key", ours(`{a:1}`), "syntax", "arguments", argumentsAt + 1},
		{"single quotes", ours(`{"a":'x'}`), "syntax", "arguments.a", argumentsAt + 5},
		{"comment", ours(`{/**/}`), "syntax", "arguments", argumentsAt + 1},
		{"NaN", ours(`{"a":NaN}`), "syntax", "arguments.a", argumentsAt + 5},
		{"Infinity", ours(`{"a":-Infinity}`), "syntax", "arguments.a", argumentsAt + 6},
		{"word", ours(`{"a":True}`), "syntax", "arguments.a", argumentsAt + 5},
		{"word with a tail", ours(`{"a":truex}`), "syntax", "arguments", argumentsAt + 9},
		{"leading zero", ours(`{"a":01}`), "syntax", "arguments.a", argumentsAt + 5},
		{"leading plus", ours(`{"a":+1}`), "syntax", "arguments.a", argumentsAt + 5},
		{"no digit behind the point", ours(`{"a":1.}`), "syntax", "arguments.a", argumentsAt + 7},
		{"no digit before the point", ours(`{"a":.5}`), "syntax", "arguments.a", argumentsAt + 5},
		{"no digit in the exponent", ours(`{"a":1e+}`), "syntax", "arguments.a", argumentsAt + 8},
		{"hexadecimal", ours(`{"a":0x10}`), "syntax", "arguments", argumentsAt + 6},
		{"newline in a string", ours("{\"a\":\"x\ny\"}"), "syntax", "arguments.a", argumentsAt + 7},
		{"unknown escape", ours(`{"a":"\x41"}`), "syntax", "arguments.a", argumentsAt + 6},
		{"escape that is no number", ours(`{"a":"\u00g0"}`), "syntax", "arguments.a", argumentsAt + 6},
		{"short escape", ours(`{"a":"\u00"}`), "syntax", "arguments.a", argumentsAt + 6},
		{"no-break space between tokens", "{\u00a0}", "syntax", "", 1},

		// Keys.
		{"key twice", ours(`{"path":"a","path":"b"}`), "duplicate_key", "arguments.path", argumentsAt + 12},
		{"key twice, one escaped", ours(`{"path":"a","p\u0061th":"b"}`), "duplicate_key", "arguments.path", argumentsAt + 12},
		{"key twice, nested", ours(`{"a":[{"b":1,"b":1}]}`), "duplicate_key", "arguments.a[0].b", argumentsAt + 13},
		{"key twice, null", ours(`{"a":null,"a":null}`), "duplicate_key", "arguments.a", argumentsAt + 10},
		{"name twice", `{"name":"a","arguments":{},"name":"b"}`, "duplicate_key", "name", 27},
		{"key twice in what a vendor adds", `{"type":"tool_use","name":"a","input":{},"x":{"y":1,"y":2}}`, "duplicate_key", "x.y", 52},
		{"key twice, quoted in the pointer", ours(`{"a b":1,"a b":2}`), "duplicate_key", `arguments["a b"]`, argumentsAt + 9},
		{"key twice in params", `{"method":"tools/call","params":{"name":"a","name":"b"}}`, "duplicate_key", "params.name", 44},
		{"empty key twice", ours(`{"":1,"":2}`), "duplicate_key", `arguments[""]`, argumentsAt + 6},
		{"zero in a key", ours(`{"a\u0000":1}`), "control_in_key", `arguments["a\x00"]`, argumentsAt + 1},
		{"newline in a key", ours(`{"a\nb":1}`), "control_in_key", `arguments["a\nb"]`, argumentsAt + 1},
		{"DEL in a key", ours("{\"a\x7f\":1}"), "control_in_key", `arguments["a\x7f"]`, argumentsAt + 1},
		{"C1 in a key", ours("{\"\u0085\":1}"), "control_in_key", `arguments["\u0085"]`, argumentsAt + 1},

		// Limits.
		{"65 levels", ours(`{"a":` + nest(63) + `}`), "too_deep", "arguments.a" + strings.Repeat("[0]", 62), argumentsAt + 5 + 62},
		{"65 levels of objects", strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), "too_deep", strings.Repeat("a.", 63) + "a", 64 * 5},
		{"a million brackets", strings.Repeat("[", 1e6), "too_deep", strings.Repeat("[0]", 64), 64},
		{"64 levels, flat", `{"tool":"t","a":` + nest(63) + `}`, "too_deep", "a" + strings.Repeat("[0]", 62), 16 + 62},
		{"2^64", ours(`{"a":18446744073709551616}`), "number_range", "arguments.a", argumentsAt + 5},
		{"-2^63-1", ours(`{"a":-9223372036854775809}`), "number_range", "arguments.a", argumentsAt + 5},
		{"a googol in digits", ours(`{"a":1` + strings.Repeat("0", 100) + `}`), "number_range", "arguments.a", argumentsAt + 5},
		{"18 digits", ours(`{"a":0.123456789012345678}`), "number_range", "arguments.a", argumentsAt + 5},
		{"18 digits around the point", ours(`{"a":123456789.123456789}`), "number_range", "arguments.a", argumentsAt + 5},
		{"exponent 309", ours(`{"a":1e309}`), "number_range", "arguments.a", argumentsAt + 5},
		{"exponent -309", ours(`{"a":1e-309}`), "number_range", "arguments.a", argumentsAt + 5},
		{"exponent -310 of a large mantissa", ours(`{"a":1000e-310}`), "number_range", "arguments.a", argumentsAt + 5},
		{"exponent 400", ours(`{"a":[0,1e400]}`), "number_range", "arguments.a[1]", argumentsAt + 8},
		{"above the largest double", ours(`{"a":1.8e308}`), "number_range", "arguments.a", argumentsAt + 5},
		{"exponent 308 of a large mantissa", ours(`{"a":10.0e308}`), "number_range", "arguments.a", argumentsAt + 5},
		{"small by its zeros", ours(`{"a":0.` + strings.Repeat("0", 308) + `1}`), "number_range", "arguments.a", argumentsAt + 5},
		{"zero with a huge exponent", ours(`{"a":0e999999999999}`), "number_range", "arguments.a", argumentsAt + 5},
		{"one with many zeros", ours(`{"a":1.` + strings.Repeat("0", 400) + `}`), "number_range", "arguments.a", argumentsAt + 5},
		{"16 MiB and a byte", ours(`{"a":"` + strings.Repeat("x", MaxBytes-int(argumentsAt)-9+1) + `"}`), "too_large", "", MaxBytes},
		{"16 MiB, flat", `{"tool":"t","a":"` + strings.Repeat("x", MaxBytes-19) + `"}`, "too_large", "", MaxBytes - 15},

		// The envelope.
		{"null", `null`, "not_an_object", "", 0},
		{"array", ` [{"name":"t"}]`, "not_an_object", "", 1},
		{"string", `"{}"`, "not_an_object", "", 0},
		{"array with a broken element", `[{"a":1,"a":2}]`, "duplicate_key", "[0].a", 8},
		{"array and more", `[] []`, "trailing_data", "", 3},
		{"no keys", `{}`, "missing_key", "name", 0},
		{"no name", `{"arguments":{}}`, "missing_key", "name", 0},
		{"no arguments", ` {"name":"t"}`, "missing_key", "arguments", 1},
		{"null arguments", ours(`null`), "wrong_type", "arguments", argumentsAt},
		{"arguments as text", ours(`"{}"`), "wrong_type", "arguments", argumentsAt},
		{"arguments as a list", ours(`[]`), "wrong_type", "arguments", argumentsAt},
		{"name of another type", `{"name":1,"arguments":{}}`, "wrong_type", "name", 8},
		{"empty name", `{"name":"","arguments":{}}`, "bad_name", "name", 8},
		{"long name", `{"name":"` + long + `","arguments":{}}`, "bad_name", "name", 8},
		{"newline in the name", `{"name":"a\nb","arguments":{}}`, "bad_name", "name", 8},
		{"call_id of another type", `{"name":"t","arguments":{},"call_id":7}`, "wrong_type", "call_id", 37},
		{"call_id null", `{"name":"t","arguments":{},"call_id":null}`, "wrong_type", "call_id", 37},
		{"long call_id", `{"name":"t","arguments":{},"call_id":"` + long + `"}`, "bad_id", "call_id", 37},
		{"escape in the call_id", `{"name":"t","arguments":{},"call_id":"\u001b[31m"}`, "bad_id", "call_id", 37},
		{"flat, name of another type", `{"tool":["t"]}`, "wrong_type", "tool", 8},
		{"flat, call_id of another type", `{"tool":"t","call_id":7}`, "wrong_type", "call_id", 22},
		{"unknown key", `{"name":"t","arguments":{},"approved":true}`, "unknown_key", "approved", 27},
		{"key of another format", `{"name":"t","parameters":{}}`, "unknown_key", "parameters", 12},
		{"known key in another case", `{"Name":"t","arguments":{}}`, "case_variant_key", "Name", 1},
		{"two cases of a key", `{"name":"t","arguments":{},"NAME":"u"}`, "case_variant_key", "NAME", 27},
		{"two cases of an argument, flat", `{"tool":"t","path":"a","Path":"b"}`, "case_variant_key", "Path", 23},
		{"Kelvin sign", `{"tool":"t","k":"a","` + "\u212a" + `":"b"}`, "case_variant_key", "[\"\u212a\"]", 20},
		{"long s", `{"name":"t","argument` + "\u017f" + `":{}}`, "case_variant_key", `["argumentſ"]`, 12},
		{"tool in two cases", `{"tool":"t","Tool":"u"}`, "case_variant_key", "Tool", 12},
		{"call_id in another case, flat", `{"tool":"t","Call_ID":"x"}`, "case_variant_key", "Call_ID", 12},
		{"input in another case", `{"type":"tool_use","name":"t","Input":{}}`, "case_variant_key", "Input", 30},
		{"another shape's key in another case", `{"type":"tool_use","name":"t","input":{},"Tool":"u"}`, "case_variant_key", "Tool", 41},
		{"name in two cases in a function", `{"type":"function","function":{"name":"t","Name":"u","arguments":"{}"}}`, "case_variant_key", "function.Name", 42},
		{"arguments in another case in params", `{"method":"tools/call","params":{"name":"t","Arguments":{}}}`, "case_variant_key", "params.Arguments", 44},

		// Two readings.
		{"ours and flat", `{"name":"t","arguments":{},"tool":"u"}`, "ambiguous_shape", "arguments", 12},
		{"flat with arguments", `{"tool":"u","arguments":{}}`, "ambiguous_shape", "arguments", 12},
		{"flat and Anthropic", `{"tool":"u","type":"tool_use","name":"t","input":{}}`, "ambiguous_shape", "type", 12},
		{"flat and chat", `{"type":"function","function":{"name":"t","arguments":"{}"},"tool":"u"}`, "ambiguous_shape", "tool", 60},
		{"flat and MCP", `{"tool":"u","method":"tools/call"}`, "ambiguous_shape", "method", 12},
		{"flat and JSON-RPC", `{"tool":"u","jsonrpc":"2.0"}`, "ambiguous_shape", "jsonrpc", 12},
		{"MCP and Anthropic", `{"jsonrpc":"2.0","type":"tool_use"}`, "ambiguous_shape", "type", 17},
		{"Anthropic with function", `{"type":"tool_use","name":"t","input":{},"function":{}}`, "ambiguous_shape", "function", 41},
		{"Anthropic with arguments", `{"type":"tool_use","name":"t","input":{},"arguments":{}}`, "ambiguous_shape", "arguments", 41},
		{"chat with a name", `{"type":"function","name":"u","function":{"name":"t","arguments":"{}"}}`, "ambiguous_shape", "name", 19},
		{"responses with input", `{"type":"function_call","name":"t","arguments":"{}","input":{}}`, "ambiguous_shape", "input", 52},
		{"MCP with a name", `{"method":"tools/call","params":{"name":"t"},"name":"u"}`, "ambiguous_shape", "name", 45},
		{"unknown type", `{"type":"server_tool_use","name":"t","input":{}}`, "unknown_shape", "type", 1},
		{"type that is no text", `{"type":["function"],"function":{}}`, "unknown_shape", "type", 1},
		{"unknown method", `{"method":"tools/list"}`, "unknown_shape", "method", 1},

		// Vendors' shapes.
		{"chat without a function", `{"type":"function"}`, "missing_key", "function", 0},
		{"chat with a list", `{"type":"function","function":[]}`, "wrong_type", "function", 30},
		{"chat without a name", `{"type":"function","function":{"arguments":"{}"}}`, "missing_key", "function.name", 30},
		{"chat without arguments", `{"type":"function","function":{"name":"t"}}`, "missing_key", "function.arguments", 30},
		{"chat with an object", `{"type":"function","function":{"name":"t","arguments":{}}}`, "wrong_type", "function.arguments", 54},
		{"chat with a bad id", `{"type":"function","id":1,"function":{"name":"t","arguments":"{}"}}`, "wrong_type", "id", 24},
		{"chat with no text", `{"type":"function","function":{"name":"t","arguments":""}}`, "empty", "function.arguments", 55},
		{"chat with blanks", `{"type":"function","function":{"name":"t","arguments":" "}}`, "empty", "function.arguments", 56},
		{"chat with text in text", `{"type":"function","function":{"name":"t","arguments":"\"{}\""}}`, "not_an_object", "function.arguments", 55},
		{"chat with null", `{"type":"function","function":{"name":"t","arguments":"null"}}`, "not_an_object", "function.arguments", 55},
		{"chat, key twice", `{"type":"function","function":{"name":"t","arguments":"{\"a\":1,\"a\":2}"}}`, "duplicate_key", "function.arguments.a", 64},
		{"chat, key twice, escaped twice", `{"type":"function","function":{"name":"t","arguments":"{\"a\":1,\"\\u0061\":2}"}}`, "duplicate_key", "function.arguments.a", 64},
		{"chat, half a character", `{"type":"function","function":{"name":"t","arguments":"{\"é\":\"\\ud800\"}"}}`, "lone_surrogate", `function.arguments["é"]`, 65},
		{"chat, trailing data", `{"type":"function","function":{"name":"t","arguments":"{}{}"}}`, "trailing_data", "function.arguments", 57},
		{"chat, byte order mark", `{"type":"function","function":{"name":"t","arguments":"\ufeff{}"}}`, "bom", "function.arguments", 55},
		{"chat, control in a key", `{"type":"function","function":{"name":"t","arguments":"{\"a\\u0000\":1}"}}`, "control_in_key", `function.arguments["a\x00"]`, 56},
		{"chat, too deep", `{"type":"function","function":{"name":"t","arguments":"{\"a\":` + nest(63) + `}"}}`, "too_deep", "function.arguments.a" + strings.Repeat("[0]", 62), 62 + 62},
		{"chat, number", `{"type":"function","function":{"name":"t","arguments":"{\"a\":1e400}"}}`, "number_range", "function.arguments.a", 62},
		{"responses without arguments", `{"type":"function_call","name":"t"}`, "missing_key", "arguments", 0},
		{"responses, key twice", `{"type":"function_call","name":"t","arguments":"{\"a\":1,\"a\":2}"}`, "duplicate_key", "arguments.a", 57},
		{"Anthropic without input", `{"type":"tool_use","name":"t"}`, "missing_key", "input", 0},
		{"Anthropic with text", `{"type":"tool_use","name":"t","input":"{}"}`, "wrong_type", "input", 38},
		{"MCP of another version", `{"jsonrpc":"1.0","method":"tools/call","params":{"name":"t"}}`, "wrong_type", "jsonrpc", 11},
		{"MCP without a method", `{"jsonrpc":"2.0","id":1,"result":{}}`, "missing_key", "method", 0},
		{"MCP of another method", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "wrong_method", "method", 33},
		{"MCP without params", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "missing_key", "params", 0},
		{"MCP with null arguments", `{"method":"tools/call","params":{"name":"t","arguments":null}}`, "wrong_type", "params.arguments", 56},
		{"MCP without a name", `{"method":"tools/call","params":{}}`, "missing_key", "params.name", 32},
		{"MCP with id null", `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t"}}`, "wrong_type", "id", 22},
		{"MCP with an escape in the id", `{"jsonrpc":"2.0","id":"\u001b","method":"tools/call","params":{"name":"t"}}`, "bad_id", "id", 22},
		{"MCP with a long id", `{"jsonrpc":"2.0","id":"` + long + `","method":"tools/call","params":{"name":"t"}}`, "bad_id", "id", 22},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Admit([]byte(tt.raw))
			var bad *Malformed
			if c != nil || !errors.As(err, &bad) {
				t.Fatalf("Admit: %v, %v; want a *Malformed", c, err)
			}
			if bad.Rule != tt.rule || bad.Pointer != tt.pointer || bad.Offset != tt.offset {
				t.Errorf("got  %s at %q, byte %d (%v)\nwant %s at %q, byte %d", bad.Rule, bad.Pointer, bad.Offset, bad, tt.rule, tt.pointer, tt.offset)
			}
			if bad.Fix == "" || problem(bad.Rule) == bad.Rule && bad.Rule != "empty" {
				t.Errorf("rule %q has no words or no fix: %v", bad.Rule, bad)
			}
		})
	}
}

func TestMalformedText(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{
			ours(`{"path":"a","path":"b"}`),
			"arguments.path: key appears twice (byte 36): keep one",
		},
		{
			`{"tool":"t","path":"a","Path":"b"}`,
			`Path: key differs from another only in case (byte 23): keep one of the two, the other is "path"`,
		},
		{
			`{"name":"t","args":{}}`,
			`args: unknown key (byte 12): write "arguments"`,
		},
		{
			"",
			"call: empty (byte 0): send a JSON object, {} for none",
		},
		{
			`{"type":"function","function":{"name":"t","arguments":""}}`,
			`function.arguments: empty (byte 55): send "{}" when there are no arguments`,
		},
		{
			`{"tool_name":"t","arguments":{}}`,
			`tool_name: unknown key (byte 1): write "name"`,
		},
		{
			`{"name":"t","arguments":{},"id":"c"}`,
			`id: unknown key (byte 27): write "call_id"`,
		},
		{
			`{"name":"t","arguments":{},"x":0}`,
			`x: unknown key (byte 27): keep only "name", "arguments" and "call_id"`,
		},
		{ // not in the middle of a character
			ours(`{"` + strings.Repeat("x", 199) + `éé":[}`),
			`arguments["` + strings.Repeat("x", 199) + `…"][0]: not valid JSON (byte 232): write a value here`,
		},
		{ // foreign keys are cut and made visible
			ours(`{"` + strings.Repeat("é", 300) + `":1,"` + strings.Repeat("é", 300) + `":1}`),
			`arguments["` + strings.Repeat("é", 100) + `…"]: key appears twice (byte 630): keep one`,
		},
		{
			ours("{\"\u202egpj\":{\"a\":1,\"a\":2}}"),
			`arguments["\u202egpj"].a: key appears twice (byte 41): keep one`,
		},
	} {
		_, err := Admit([]byte(tt.raw))
		if err == nil || err.Error() != tt.want {
			t.Errorf("Admit(%.60q)\n got %v\nwant %s", tt.raw, err, tt.want)
		}
	}
}

// TestHiddenInErrors puts characters that nobody sees into a key that an error names.
func TestHiddenInErrors(t *testing.T) {
	for _, c := range []rune{0xad, 0x34f, 0x115f, 0x17b4, 0x180b, 0x200d, 0x2028, 0x202e, 0x3164, 0xe000, 0xfdd0, 0xfe0f, 0xffa0, 0x1d173, 0xe0041, 0xe0100, 0x10ffff} {
		key := "a" + string(c)
		_, err := Admit([]byte(ours(`{"` + key + `":1,"` + key + `":2}`)))
		if err == nil || strings.ContainsRune(err.Error(), c) || !strings.Contains(err.Error(), `arguments["a\`) {
			t.Errorf("%U: %v", c, err)
		}
	}
}

// TestNoValueInErrors breaks a call at every byte and looks for its secret.
func TestNoValueInErrors(t *testing.T) {
	const raw = `{"type":"function","function":{"name":"t","arguments":"{\"password\":[\"hunter2\",{\"a\":\"hunter2\"}]}"}}`
	for i := range raw {
		for _, b := range []string{"", `"`, "\x00", "\xff", "}", "{", "9"} {
			_, err := Admit([]byte(raw[:i] + b + raw[i+1:]))
			if err != nil && strings.Contains(err.Error(), "hunter") {
				t.Fatalf("byte %d as %q: %v", i, b, err)
			}
		}
	}
}

// TestAtTheLimits holds the widest calls that pass, and that they pass again.
func TestAtTheLimits(t *testing.T) {
	name := strings.Repeat("é", maxName/2)
	for what, raw := range map[string]string{
		"16 MiB":              ours(`{"a":"` + strings.Repeat("x", MaxBytes-int(argumentsAt)-9) + `"}`),
		"16 MiB, flat":        `{"tool":"t","a":"` + strings.Repeat("x", MaxBytes-19-15) + `"}`,
		"64 levels":           ours(`{"a":` + nest(62) + `}`),
		"63 levels, flat":     `{"tool":"t","a":` + nest(62) + `}`,
		"64 levels, chat":     `{"type":"function","function":{"name":"t","arguments":"{\"a\":` + nest(62) + `}"}}`,
		"2^64-1 and -2^63":    ours(`{"a":[18446744073709551615,-9223372036854775808]}`),
		"17 digits":           ours(`{"a":[0.12345678901234567,-1.2345678901234567e-300,12345678901234567.0,9007199254740993.0]}`),
		"exponents":           ours(`{"a":[1e308,1E+308,1.7976931348623157e308,1e-308,0e0,-0.0e-308,0.` + strings.Repeat("0", 307) + `1]}`),
		"zeros do not count":  ours(`{"a":[1.` + strings.Repeat("0", 300) + `,100000000000000000000.0]}`),
		"name and id":         `{"name":"` + name + `","arguments":{},"call_id":"` + name + `"}`,
		"keys of all scripts": ours(`{"ключ":1,"鍵":1,"a b":1,"":1,"a.b":1,"Path":1,"path":1}`),
		"many keys, flat":     `{"tool":"t","a1":1,"a2":1,"a3":1,"a4":1,"a5":1,"a6":1,"a7":1,"a8":1,"a9":1,"b1":1,"b2":1,"b3":1,"b4":1,"b5":1,"b6":1,"b7":1,"b8":1}`,
	} {
		c := admitted(t, raw)
		if admitted(t, string(c.JSON())).Digest() != c.Digest() {
			t.Errorf("%s: JSON has another digest", what)
		}
	}
}

func TestManyKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"tool":"t"`)
	for i := range 40 {
		b.WriteString(`,"k` + strings.Repeat("x", i) + `":1`)
	}
	for tail, rule := range map[string]string{`,"kxxx":1}`: "duplicate_key", `,"KXXX":1}`: "case_variant_key", `,"\u006b":1}`: "duplicate_key"} {
		_, err := Admit([]byte(b.String() + tail))
		var bad *Malformed
		if !errors.As(err, &bad) || bad.Rule != rule || bad.Offset != int64(b.Len()+1) {
			t.Errorf("%s: got %v, want %s", tail, err, rule)
		}
	}
}

func admitted(t testing.TB, raw string) *Call {
	t.Helper()
	c, err := Admit([]byte(raw))
	if err != nil {
		t.Fatalf("Admit(%.200q): %v", raw, err)
	}
	return c
}
