package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// mark is the place of a mark of a prompt cache: the index of a message and of its part, or onTools and the index of a
// tool.
type mark struct{ message, part int }

// onTools is the message of marks on tools.
const onTools = -1

// marksOf returns the marks of a request in the order in which vendors read it: tools, system messages, other messages.
// A mark within a tool's result belongs to the result.
func marksOf(r *llm.Request) (all []mark) {
	for i := range r.Tools {
		if r.Tools[i].CacheControl != nil {
			all = append(all, mark{onTools, i})
		}
	}
	for _, isSystem := range []bool{true, false} {
		for i := range r.Messages {
			if (r.Messages[i].Role == llm.RoleSystem) != isSystem {
				continue
			}
			for j := range r.Messages[i].Parts {
				if isMarked(&r.Messages[i].Parts[j]) {
					all = append(all, mark{i, j})
				}
			}
		}
	}
	return all
}

func isMarked(p *llm.Part) bool {
	return p.CacheControl != nil || p.Result != nil && slices.ContainsFunc(p.Result.Parts, func(p llm.Part) bool {
		return p.CacheControl != nil
	})
}

// in returns the mark's value in a request.
func (m mark) in(r *llm.Request) json.RawMessage {
	if m.message == onTools {
		return r.Tools[m.part].CacheControl
	}
	p := &r.Messages[m.message].Parts[m.part]
	if p.CacheControl != nil || p.Result == nil {
		return p.CacheControl
	}
	for i := range p.Result.Parts {
		if c := p.Result.Parts[i].CacheControl; c != nil {
			return c
		}
	}
	return nil
}

// isLong reports whether a mark requests a lifetime of an hour.
func isLong(mark json.RawMessage) bool { return rawjson.Text(rawjson.Get(mark, "ttl")) == "1h" }

// setMark replaces a mark; nil removes it.
func (f *Fitting) setMark(m mark, value json.RawMessage) {
	if m.message == onTools {
		f.Tools[m.part].CacheControl = value
		return
	}
	p := f.part(m.message, m.part)
	p.CacheControl = value
	if p.Result == nil {
		return
	}
	result := *p.Result
	result.Parts = slices.Clone(result.Parts)
	for i := range result.Parts {
		result.Parts[i].CacheControl = nil
	}
	p.Result = &result
}

// dropMarks removes marks and reports them.
func (f *Fitting) dropMarks(marks []mark) {
	for _, m := range marks {
		name := "cache_control"
		if rawjson.Text(rawjson.Get(m.in(f.Request), "mode")) == "explicit" {
			name = "prompt_cache_breakpoint"
		}
		f.setMark(m, nil)
		f.Drop(name)
	}
}

// MostMarks bounds the number of marks of a prompt cache.
type MostMarks struct{ Most int }

// Broken returns the number of marks if it exceeds the bound.
func (a MostMarks) Broken(r *llm.Request, _ []byte) string {
	n := len(marksOf(r))
	if n <= a.Most {
		return ""
	}
	return strconv.Itoa(n)
}

// Fit keeps the last mark of tools and system, which conversations share, and otherwise the last ones, where the next
// request of the conversation reads the cache.
func (a MostMarks) Fit(f *Fitting) error {
	all := marksOf(f.Request)
	conversation := slices.IndexFunc(all, func(m mark) bool {
		return m.message != onTools && f.Messages[m.message].Role != llm.RoleSystem
	})
	from := len(all) - a.Most
	if shared := conversation - 1; conversation > 0 && shared < from {
		all = slices.Delete(all, shared, shared+1)
	}
	f.dropMarks(all[:from])
	return nil
}

func (a MostMarks) String() string {
	return fmt.Sprintf("A request has at most %d marks of a prompt cache", a.Most)
}

// LongMarksFirst requires that marks with a lifetime of an hour come before all others.
type LongMarksFirst struct{}

// Broken returns the part of the request with the first wrong mark.
func (LongMarksFirst) Broken(r *llm.Request, _ []byte) string {
	late := lateMarks(r)
	switch {
	case len(late) == 0:
		return ""
	case late[0].message == onTools:
		return fmt.Sprintf("tools.%d", late[0].part)
	}
	return fmt.Sprintf("messages.%d.content.%d", late[0].message, late[0].part)
}

// lateMarks returns the marks of an hour after others.
func lateMarks(r *llm.Request) (late []mark) {
	short := false
	for _, m := range marksOf(r) {
		if !isLong(m.in(r)) {
			short = true
		} else if short {
			late = append(late, m)
		}
	}
	return late
}

// Fit gives these marks the vendor's default lifetime, which costs less.
func (LongMarksFirst) Fit(f *Fitting) error {
	for _, m := range lateMarks(f.Request) {
		f.setMark(m, json.RawMessage(defaultMark))
		f.Drop("cache_control ttl")
	}
	return nil
}

func (LongMarksFirst) String() string {
	return "Marks of a prompt cache with a lifetime of an hour come before others"
}

// ShortMarks forbids marks with a lifetime of an hour.
type ShortMarks struct{}

// Broken returns the lifetime.
func (ShortMarks) Broken(r *llm.Request, _ []byte) string {
	if slices.ContainsFunc(marksOf(r), func(m mark) bool { return isLong(m.in(r)) }) {
		return "1h"
	}
	return ""
}

// Fit gives these marks the vendor's default lifetime.
func (ShortMarks) Fit(f *Fitting) error {
	for _, m := range marksOf(f.Request) {
		if isLong(m.in(f.Request)) {
			f.setMark(m, json.RawMessage(defaultMark))
			f.Drop("cache_control ttl")
		}
	}
	return nil
}

func (ShortMarks) String() string { return "Marks of a prompt cache have a lifetime of five minutes" }

// NoMarks forbids marks of a prompt cache: on tools, on images, documents and sounds, or anywhere.
type NoMarks struct{ OnTools, OnMedia bool }

// forbidden returns the marks that the vendor refuses.
func (a NoMarks) forbidden(r *llm.Request) []mark {
	return slices.DeleteFunc(marksOf(r), func(m mark) bool {
		return a.OnTools && m.message != onTools || a.OnMedia && !m.isOnMedia(r)
	})
}

// isOnMedia reports whether a mark is on content that is neither text nor the use of a tool.
func (m mark) isOnMedia(r *llm.Request) bool {
	if m.message == onTools {
		return false
	}
	isMedia := func(p llm.Part) bool {
		isText := p.Kind != llm.PartImage && p.Kind != llm.PartDocument && p.Kind != llm.PartAudio
		return p.CacheControl != nil && !isText
	}
	p := &r.Messages[m.message].Parts[m.part]
	return isMedia(*p) || p.Result != nil && slices.ContainsFunc(p.Result.Parts, isMedia)
}

// Broken returns the number of such marks.
func (a NoMarks) Broken(r *llm.Request, _ []byte) string {
	if n := len(a.forbidden(r)); n > 0 {
		return strconv.Itoa(n)
	}
	return ""
}

// Fit removes them.
func (a NoMarks) Fit(f *Fitting) error {
	f.dropMarks(a.forbidden(f.Request))
	return nil
}

func (a NoMarks) String() string {
	switch {
	case a.OnTools:
		return "Tools have no marks of a prompt cache"
	case a.OnMedia:
		return "Images, documents and sounds have no marks of a prompt cache"
	}
	return "No marks of a prompt cache"
}
