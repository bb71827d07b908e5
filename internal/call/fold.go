package call

import (
	"strings"
	"unicode"
)

// CaseVariant finds two different keys that are equal under simple Unicode case
// folding, as "path" and "Path", or "k" and the Kelvin sign: readers that match
// keys without regard to case would take one for the other. b is the first key
// that has a variant before it, a that variant. Equal keys are not variants.
func CaseVariant(keys []string) (a, b string, found bool) {
	if len(keys) <= 16 {
		for i, b := range keys {
			for _, a := range keys[:i] {
				if a != b && strings.EqualFold(a, b) {
					return a, b, true
				}
			}
		}
		return "", "", false
	}
	seen := make(map[string]string, len(keys))
	for _, b := range keys {
		folded := strings.Map(fold, b)
		if a, twice := seen[folded]; !twice {
			seen[folded] = b
		} else if a != b {
			return a, b, true
		}
	}
	return "", "", false
}

// fold returns the smallest of the characters that fold to each other.
func fold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
