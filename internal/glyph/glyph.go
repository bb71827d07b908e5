// Package glyph tells which characters of foreign text can be seen. It promises that
// there is one answer to that in RunLens: what goes to a terminal, to a model or into
// a report is held against the same table.
//
// It never changes what text means: JSON and Quote only spell it in another way.
//
// Read first: [Shows].
package glyph

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shows holds for characters that can be seen, or take a place, and leave their
// neighbours alone: letters, marks, numbers, punctuation, symbols and spaces of all
// scripts. It does not hold for controls, tabs and line feeds among them; for format
// characters, joiners and those that turn the direction of text among them; for the
// separators of lines and paragraphs; for what is private, unassigned or no character
// at all; and for letters, marks and selectors that Unicode shows as nothing
// (Default_Ignorable_Code_Point, DerivedCoreProperties.txt).
func Shows(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r != 0x7f
	}
	return unicode.IsGraphic(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Joins holds for a joiner or selector where scripts and emoji have one: right after
// a letter, mark or symbol that can be seen, beyond ASCII for the joiners. A second
// one in a row says nothing to a reader, and is not meant.
func Joins(before, r rune) bool {
	switch r {
	case '\ufe0e', '\ufe0f':
		return unicode.In(before, unicode.S) && Shows(before) || strings.ContainsRune("#*0123456789‼⁉〰〽", before)
	case '\u200c', '\u200d':
		return before == '\ufe0f' || before >= utf8.RuneSelf && unicode.In(before, unicode.L, unicode.M, unicode.S) && Shows(before)
	}
	return false
}

// JSON is JSON text in which every character for which hidden holds stands as its \u
// escape. It decodes to the same value: such characters stand in strings alone. hidden
// must not hold for what JSON is laid out with, nor for U+FFFD.
func JSON(text []byte, hidden func(rune) bool) []byte {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if hidden(r) {
			break
		}
		at += size
	}
	if at == len(text) {
		return text
	}
	out := append(make([]byte, 0, len(text)+64), text[:at]...)
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		switch {
		case !hidden(r):
			out = append(out, text[at:at+size]...)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		}
		at += size
	}
	return out
}

// Hidden holds for what JSON must spell out so that all of it can be seen, laid out
// in lines or not.
func Hidden(r rune) bool { return r != '\n' && !Shows(r) }

// Quote is text between quotes, as Go spells it, with what can't be seen spelt out.
func Quote(text string) string {
	quoted := strconv.Quote(text)
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case Shows(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}
