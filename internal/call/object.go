package call

// Object admits a text that is no call but one JSON object, by the same rules of
// spelling; it has one reading, too. name is what errors call the whole. The error
// is a [*Malformed]; it repeats nothing of the text, no key either: the place is the
// offset alone.
func Object(raw []byte, name string) (map[string]any, error) {
	if len(raw) > MaxBytes {
		return nil, &Malformed{Rule: ruleTooLarge, Pointer: name, Offset: MaxBytes, Fix: "send at most 16 MiB"}
	}
	s := scanner{src: string(raw), limit: MaxDepth}
	object, bad := s.whole()
	if bad != nil {
		bad.Pointer = name
		return nil, bad
	}
	return object, nil
}

// whole reads a text that is one object.
func (s *scanner) whole() (map[string]any, *Malformed) {
	if bad := s.begin(); bad != nil {
		return nil, bad
	}
	start := s.pos
	if s.peek() != '{' {
		return nil, s.notAnObject(start, 0)
	}
	object, bad := s.object(0)
	if bad != nil {
		return nil, bad
	}
	return object, s.end()
}
