package openai

import (
	"bytes"
	"encoding/json"
)

// member is one member of a JSON object; the value as it was spelt.
type member struct {
	key   string
	value json.RawMessage
}

// split takes an object apart, in order, members that are there twice too.
func split(raw []byte) ([]member, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var list []member
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, false
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil, false
		}
		list = append(list, member{key, value})
	}
	_, err := dec.Token()
	return list, err == nil
}

// join puts an object together.
func join(list []member) json.RawMessage {
	var buf bytes.Buffer
	buf.WriteByte('{')
	for i, x := range list {
		if i > 0 {
			buf.WriteByte(',')
		}
		key, _ := json.Marshal(x.key)
		buf.Write(key)
		buf.WriteByte(':')
		buf.Write(x.value)
	}
	buf.WriteByte('}')
	return buf.Bytes()
}
