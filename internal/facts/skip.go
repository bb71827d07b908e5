package facts

import "bytes"

// Skip returns the length of the JSON value that b begins with, 0 when none ends in
// b. It finds the end and checks nothing else: b has no white space outside strings.
func Skip(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := skipText(b[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':':
			if depth == 0 {
				return i
			}
		}
	}
	return 0
}

// skipText is Skip for a string.
func skipText(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return 0
	}
	for i := 1; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return 0
		}
		end, slashes := i+n, 0
		for end-1-slashes >= 1 && b[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end + 1
		}
		i = end + 1
	}
	return 0
}

// Members calls fn with the members of a JSON object without white space until fn
// returns false, and says whether all that it passed had the form of members.
func Members(object []byte, fn func(name, value []byte) bool) bool {
	if len(object) < 2 || object[0] != '{' {
		return false
	}
	if object[1] == '}' {
		return len(object) == 2
	}
	for at := 1; at < len(object); at++ { // at a name; behind a comma
		n := skipText(object[at:])
		if n == 0 || at+n >= len(object) || object[at+n] != ':' {
			return false
		}
		name := object[at+1 : at+n-1]
		at += n + 1
		n = Skip(object[at:])
		if n == 0 {
			return false
		}
		if !fn(name, object[at:at+n]) {
			return true
		}
		if at += n; at >= len(object) {
			return false
		}
		if object[at] == '}' {
			return at == len(object)-1
		}
		if object[at] != ',' {
			return false
		}
	}
	return false
}
