package call

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Limits of numbers: what every reader after us can hold without changing it.
const (
	maxDigits   = 17  // of a decimal: enough to tell any two float64 apart
	maxExponent = 308 // of ten, as spelt and in d.ddd form
	maxSpelling = 400 // bytes: no limit above needs more
)

// number reads the number that starts at pos.
func (s *scanner) number() (json.Number, *Malformed) {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	whole := s.digits()
	if whole == 0 {
		return "", s.unexpected("a digit")
	}
	if whole > 1 && s.src[s.pos-whole] == '0' {
		return "", s.fail(ruleSyntax, start, "drop the leading zero")
	}
	integer := true
	if s.peek() == '.' {
		integer = false
		s.pos++
		if s.digits() == 0 {
			return "", s.unexpected("a digit")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		integer = false
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if s.digits() == 0 {
			return "", s.unexpected("a digit")
		}
	}
	text := s.src[start:s.pos]
	if integer {
		if whole > 18 && !fits64(text) {
			return "", s.fail(ruleNumberRange, start, "send an integer of 64 bits, or a string")
		}
	} else if !fitsDecimal(text) {
		return "", s.fail(ruleNumberRange, start, "send at most 17 significant digits and an exponent within ±308, or a string")
	}
	return json.Number(text), nil
}

func (s *scanner) digits() (n int) {
	for ; s.pos < len(s.src) && s.src[s.pos]-'0' <= 9; s.pos++ {
		n++
	}
	return n
}

// fits64 accepts signed and unsigned integers alike: -2^63 to 2^64-1.
func fits64(text string) bool {
	var err error
	if text[0] == '-' {
		_, err = strconv.ParseInt(text, 10, 64)
	} else {
		_, err = strconv.ParseUint(text, 10, 64)
	}
	return err == nil
}

func fitsDecimal(text string) bool {
	if len(text) > maxSpelling {
		return false
	}
	d, ok := parseDecimal(text)
	if !ok || d.spelt < -maxExponent || d.spelt > maxExponent {
		return false
	}
	var buf [maxSpelling]byte
	digits, exponent := d.normal(buf[:0])
	if len(digits) == 0 {
		return true
	}
	first := exponent + len(digits) - 1 // the exponent of the first digit
	if len(digits) > maxDigits || first < -maxExponent || first > maxExponent {
		return false
	}
	if first == maxExponent { // above 1.797…e308 readers see infinity
		_, err := strconv.ParseFloat(text, 64)
		return err == nil
	}
	return true
}

// decimal is a JSON number taken apart.
type decimal struct {
	negative    bool
	whole, frac string
	spelt       int // the exponent as spelt, 0 if none
}

// parseDecimal reads a JSON number; ok is false for other text and for an
// exponent of more than 9 digits.
func parseDecimal(text string) (d decimal, ok bool) {
	text, d.negative = strings.CutPrefix(text, "-")
	if isDigits(text) {
		d.whole = text
		return d, len(text) == 1 || text[0] != '0'
	}
	mantissa := text
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent := text[i+1:]
		digits := exponent
		if digits != "" && (digits[0] == '-' || digits[0] == '+') {
			digits = digits[1:]
		}
		if !isDigits(digits) || len(digits) > 9 {
			return d, false
		}
		mantissa = text[:i]
		d.spelt, _ = strconv.Atoi(exponent)
	}
	whole, frac, point := strings.Cut(mantissa, ".")
	if !isDigits(whole) || point && !isDigits(frac) || len(whole) > 1 && whole[0] == '0' {
		return d, false
	}
	d.whole, d.frac = whole, frac
	return d, true
}

func isDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i]-'0' > 9 {
			return false
		}
	}
	return s != ""
}

// normal appends the digits that carry the value, without zeros around them,
// and returns all of dst and the exponent of the last one: the value is
// digits × 10^exponent. Zero has no digits.
func (d decimal) normal(dst []byte) (digits []byte, exponent int) {
	from := len(dst)
	dst = append(dst, strings.TrimLeft(d.whole, "0")...)
	if len(dst) == from {
		dst = append(dst, strings.TrimLeft(d.frac, "0")...)
	} else {
		dst = append(dst, d.frac...)
	}
	exponent = d.spelt - len(d.frac)
	for len(dst) > from && dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
		exponent++
	}
	return dst, exponent
}
