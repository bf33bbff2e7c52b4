package promptcache

import (
	"bytes"
	"cmp"
	"container/list"
	"slices"
	"time"
)

// talk is a conversation.
type talk struct {
	id           talkID
	of           *account
	inAll, inOwn *list.Element
	branches     []*branch
	requests     int
	size         int
	at           time.Time // of the last request
}

// branch is a prompt that grew request by request. A prompt that begins otherwise is another branch.
type branch struct {
	sections []section
	ends     []end // in the order of the requests
}

// end is where the prompt of an earlier request ended in its branch.
type end struct {
	request       int // the number of the request in its conversation
	sections      int
	total, stored int64 // input tokens, and those of them in the cache
	target        string
	key           int
	life          time.Duration
	at            time.Time
}

// miss returns what a request missed. It could have read the longest earlier prompt with which it begins. If the newest
// earlier prompt that is related to it begins otherwise, it could have read as much of that one.
func (t *talk) miss(s *Sent, now []section) Miss {
	var best *end
	var others []other
	most, newest := int64(0), 0
	for _, b := range t.branches {
		common := commonSections(b.sections, now)
		for i := range b.ends {
			e := &b.ends[i]
			switch {
			case s.At.Sub(e.at) > keep:
			case e.sections > common:
				others = append(others, other{e, b.sections[common:e.sections], common})
			default:
				newest = max(newest, e.request)
				if could := s.could(e); could > most || could == most && s.isBetter(e, best) {
					best, most = e, could
				}
			}
		}
	}
	if o := newestRelated(others, newest, now); o != nil {
		if miss := s.missOf(o.end, s.could(o.end)); miss.Tokens == 0 || miss.Cause == BelowLeast {
			return miss
		}
		return Miss{s.could(o.end) - s.Read, Changed, int(now[min(o.common, len(now)-1)].message)}
	}
	if best == nil {
		return Miss{}
	}
	return s.missOf(best, most)
}

// other is an end of a prompt that begins otherwise.
type other struct {
	end    *end
	behind []section // behind what is common
	common int
}

// newestRelated returns the end of the newest request after the number that is an earlier form of the prompt; nil for
// none.
func newestRelated(others []other, after int, now []section) *other {
	others = slices.DeleteFunc(others, func(o other) bool { return o.end.request <= after })
	if len(others) == 0 {
		return nil
	}
	slices.SortFunc(others, func(a, b other) int { return cmp.Compare(b.end.request, a.end.request) })
	last := make(map[uint64]int, len(now)) // where each section appears last
	for i := range now {
		last[now[i].hash] = i
	}
	for i := range others[:min(len(others), mostOthers)] {
		if o := &others[i]; o.reappears(last) {
			return o
		}
	}
	return nil
}

// mostOthers bounds the ends that a prompt is compared with, the newest ones, because all accounts wait for it.
const mostOthers = 32

// reappears reports whether at least half of what stood behind the first section, which has changed, is in the new
// prompt, by bytes. Otherwise it is a new conversation, or another answer to the same question. last has the last place
// of each section of the new prompt.
func (o *other) reappears(last map[uint64]int) bool {
	all, found := int64(0), int64(0)
	for i := range o.behind[1:] {
		s := &o.behind[1+i]
		all += int64(s.bytes)
		if at, is := last[s.hash]; is && at >= o.common {
			found += int64(s.bytes)
		}
	}
	return all > 0 && 2*found >= all
}

func commonSections(a, b []section) (n int) {
	for n < len(a) && n < len(b) && a[n].hash == b[n].hash {
		n++
	}
	return n
}

// could returns the tokens of an earlier prompt that the request could have read.
func (s *Sent) could(e *end) int64 { return min(e.total, s.Total) / s.Rule.Step * s.Rule.Step }

// isBetter reports whether an earlier request explains a miss better than another one with as many tokens: it went to
// the same target with the same key, else it is the later one.
func (s *Sent) isBetter(e, than *end) bool {
	if than == nil {
		return true
	}
	if same := s.isSame(e); same != s.isSame(than) {
		return same
	}
	return e.request > than.request
}

func (s *Sent) isSame(e *end) bool { return e.target == s.Target && e.key == s.Key }

// missOf returns what the request missed of an earlier prompt with which it begins.
func (s *Sent) missOf(e *end, could int64) Miss {
	missed := could - s.Read
	if missed < LeastMiss || could < Smallest {
		return Miss{}
	}
	return Miss{Tokens: missed, Cause: s.causeOf(e, could)}
}

func (s *Sent) causeOf(e *end, could int64) Cause {
	switch {
	case could < s.Rule.Least:
		return BelowLeast
	case e.target != s.Target:
		return OtherTarget
	case e.key != s.Key:
		return OtherKey
	case s.Rule.Marked && !hasMark(s.Sent) && hasMark(s.Body):
		return MarkDropped
	case s.Rule.Marked && (!hasMark(s.Sent) || s.Read >= e.stored):
		return NoMark
	case s.At.Sub(e.at) >= e.life:
		return Expired
	}
	return Unknown
}

// add remembers a request in the branch that it continues, or in a new one.
func (t *talk) add(s *Sent, now []section) {
	t.requests++
	e := end{
		request: t.requests, sections: len(now), total: s.Total, stored: s.Read + s.Written, target: s.Target,
		key: s.Key, life: s.life(), at: s.At,
	}
	b := t.branchOf(now)
	if n := len(now) - len(b.sections); n > 0 {
		t.size += n
		b.sections = append(b.sections, now[len(b.sections):]...)
	}
	same := func(o end) bool { return o.sections == e.sections && o.target == e.target && o.key == e.key }
	before := len(b.ends)
	b.ends = slices.DeleteFunc(b.ends, same)
	if len(b.ends) == mostEnds {
		b.ends = slices.Delete(b.ends, 0, 1)
	}
	b.ends = append(b.ends, e)
	t.size += sizeOfEnd * (len(b.ends) - before)
}

// branchOf returns the branch that begins as the prompt, or a new one in place of the oldest.
func (t *talk) branchOf(now []section) *branch {
	for _, b := range t.branches {
		if commonSections(b.sections, now) == min(len(b.sections), len(now)) {
			return b
		}
	}
	if len(t.branches) == mostBranches {
		last := func(b *branch) int { return b.ends[len(b.ends)-1].request }
		oldest := slices.MinFunc(t.branches, func(a, b *branch) int { return cmp.Compare(last(a), last(b)) })
		t.size -= len(oldest.sections) + sizeOfEnd*len(oldest.ends)
		t.branches = slices.DeleteFunc(t.branches, func(b *branch) bool { return b == oldest })
	}
	b := &branch{}
	t.branches = append(t.branches, b)
	return b
}

// life returns how long the vendor's cache has the prompt after its last use.
func (s *Sent) life() time.Duration {
	if s.Rule.Marked && bytes.Contains(s.Sent, []byte(`"1h"`)) {
		return Long
	}
	return s.Rule.Lifetime
}
