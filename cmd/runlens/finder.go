package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/report"
)

// finder gathers what check found, for the formats of CI: each is one document
// about all of it. A nil finder gathers nothing.
type finder struct {
	w      *world
	format string
	titles map[string]string // what a code means
	list   []report.Finding
}

// ciFormats are made of findings.
var ciFormats = []string{"junit", "sarif", "github"}

// newFinder is nil when neither the format nor a runner wants findings.
func (w *world) newFinder(format string, x *executor.Executor) *finder {
	if _, guarded := report.Unguarded(w.stderr); !guarded && !slices.Contains(ciFormats, format) {
		return nil
	}
	f := &finder{w: w, format: format, titles: map[string]string{}}
	for _, c := range x.Codes() {
		f.titles[c.Code] = c.Title
	}
	return f
}

// reports tells whether the findings are the report.
func (f *finder) reports() bool { return f != nil && slices.Contains(ciFormats, f.format) }

// call takes a judged call; code is what it alone would end check with.
func (f *finder) call(r *report.Result, piece call.Piece, code int) {
	if f == nil {
		return
	}
	found := report.FindingOf(r)
	switch {
	case code == exitBroken:
		found.Status = report.Broken
	case code == exitDenied:
		found.Status = report.Fail
	}
	if found.Status != report.Pass {
		found.Title = f.titles[found.Code]
		found.Place.Line, found.Place.Column = placeIn(piece, &r.Reasons[0])
	}
	f.list = append(f.list, found)
}

// placeIn is the place that a reason is about: the argument it names, or the byte
// at which a call is malformed, else where the call begins.
func placeIn(piece call.Piece, given *engine.Reason) (line, column int) {
	if piece.Raw == nil {
		return piece.Line, piece.Column
	}
	if given.Code == "malformed_call" {
		_, err := call.Admit(piece.Raw)
		if bad, ok := errors.AsType[*call.Malformed](err); ok {
			return piece.At(int(bad.Offset))
		}
	}
	if at, there := call.Locate(piece.Raw, given.Param); there && given.Param != "" {
		return piece.At(at)
	}
	return piece.Line, piece.Column
}

// unread takes inputs that can't be read.
func (f *finder) unread(err error) {
	if f == nil {
		return
	}
	hint := ""
	if t, ok := errors.AsType[*trouble](err); ok {
		hint, _, _ = strings.Cut(t.hint, "\n")
	}
	for _, u := range unreads(err) {
		name := sourceName(u.name)
		f.list = append(f.list, report.Finding{
			Suite: name, Name: name, Status: report.Broken, Place: report.Place{File: name},
			Code: "unreadable", Title: "the input can't be read", Message: u.Error(), Remedy: hint,
		})
	}
}

// unreads are the inputs that an error is about.
func unreads(err error) (list []*unread) {
	switch e := err.(type) {
	case *unread:
		return []*unread{e}
	case interface{ Unwrap() error }:
		return unreads(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			list = append(list, unreads(one)...)
		}
	}
	return list
}

// nothing takes an argument in which there was nothing to judge.
func (f *finder) nothing(name, message string) {
	if f == nil {
		return
	}
	f.list = append(f.list, report.Finding{
		Suite: name, Name: name, Status: report.Skip, Place: report.Place{File: name}, Message: message,
	})
}

// report writes the document.
func (f *finder) report(name string) error { return f.w.writeFindings(f.format, name, f.list) }

// annotate shows the findings where a runner shows them, unless the report does.
func (f *finder) annotate() {
	if f != nil && f.format != "github" {
		f.w.annotate(f.list)
	}
}
