package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"weir/internal/llm"
)

// A payload consists of varints, strings that their length precedes, and usage as pairs of class and count. New fields
// are appended at the end, so that older journals can still be read.

var (
	outcomes = []Outcome{
		OutcomeOpen, OutcomeOK, OutcomeRefused, OutcomeRejected, OutcomeFailed, OutcomeCut,
		OutcomeClientGone, OutcomeUnknown,
	}
	provenances = []Provenance{Exact, Estimated, Unknown, Assumed}
	// A class is encoded as its index in this list.
	classes = []llm.Class{
		llm.Input, llm.CacheRead, llm.CacheWrite, llm.CacheWrite1h, llm.AudioIn, llm.ImageIn, llm.Output, llm.Reasoning,
		llm.AudioOut,
		llm.Requests, llm.Searches, llm.Images, llm.Characters, llm.Milliseconds,
		llm.CacheReadAudio, llm.Citation, llm.Maps, llm.XSearches, llm.FileSearches, llm.CodeSessions, llm.ToolImages,
		llm.OtherTools, llm.ImageOut,
	}
)

const (
	flagStream = 1 << iota
	flagCounts
	flagProviderCost
	flagBilled
	flagReplyID
	flagAsk
)

func appendOpen(dst []byte, a *Attempt) []byte {
	dst, start := beginFrame(dst, recordOpen)
	return endFrame(appendOpening(appendID(dst, a.ID), a), start)
}

// appendOpening writes the fields after the id.
func appendOpening(dst []byte, a *Attempt) []byte {
	var flags uint64
	if a.Stream {
		flags |= flagStream
	}
	if a.Terms != nil {
		flags |= flagTerms
	}
	flags |= attributionFlags(a)
	dst = binary.AppendUvarint(dst, flags)
	dst = binary.AppendVarint(dst, a.Opened.UnixMicro())
	for _, s := range [...]string{a.Account, a.Key, a.Requested, a.Provider, a.Model, a.Price.Version} {
		dst = appendText(dst, s)
	}
	dst = appendUsage(dst, &a.Bound)
	dst = binary.AppendVarint(dst, int64(a.Hold))
	dst = binary.AppendVarint(dst, a.Opened.Sub(a.Arrived).Microseconds())
	dst = appendAttribution(dst, &a.Attribution)
	if a.Terms != nil {
		dst = appendTerms(dst, a)
	}
	return appendRegion(appendParts(dst, a.Parts), a.Region)
}

func decodeOpen(payload []byte, known names) (a Attempt, err error) {
	d := decoder{b: payload}
	a.ID = d.id()
	d.opening(&a, known)
	return a, d.finish("open")
}

// opening reads the output of appendOpening.
func (d *decoder) opening(a *Attempt, known names) {
	flags := d.uvarint()
	a.Stream = flags&flagStream != 0
	a.Opened = time.UnixMicro(d.varint()).UTC()
	for _, s := range [...]*string{&a.Account, &a.Key, &a.Requested, &a.Provider, &a.Model, &a.Price.Version} {
		*s = known.text(d.take(d.uvarint()))
	}
	d.usage(&a.Bound)
	a.Hold = llm.Money(d.varint())
	a.Arrived = a.Opened
	if len(d.b) > 0 {
		a.Arrived = a.Opened.Add(-time.Duration(d.varint()) * time.Microsecond)
	}
	a.Attribution = d.attribution(flags, known)
	if flags&flagTerms != 0 {
		d.terms(a, known)
	}
	a.Parts = d.parts(flags)
	a.Region = d.region(flags, known)
}

func appendSettle(dst []byte, id AttemptID, s *Settlement) []byte {
	dst, start := beginFrame(dst, recordSettle)
	return endFrame(appendSettlement(appendID(dst, id), s), start)
}

// appendSettlement writes the fields after the id.
func appendSettlement(dst []byte, s *Settlement) []byte {
	var flags uint64
	if s.Counts {
		flags |= flagCounts
	}
	if s.ProviderCost != nil {
		flags |= flagProviderCost
	}
	if s.Billed {
		flags |= flagBilled
	}
	if s.ReplyID != "" {
		flags |= flagReplyID
	}
	if s.Ask {
		flags |= flagAsk
	}
	flags |= chargeFlags(s) | servedFlags(&s.Served) | missedFlag(&s.Missed) | cachedFlags(&s.Cached) |
		sizesFlag(s.Sizes)
	dst = binary.AppendUvarint(dst, flags)
	dst = append(dst, indexOf(outcomes, s.Outcome), indexOf(provenances, s.Provenance))
	dst = appendUsage(dst, &s.Usage)
	dst = binary.AppendVarint(dst, int64(s.Cost))
	for _, text := range [...]string{string(s.Finish), s.Tier, string(s.Code)} {
		dst = appendText(dst, text)
	}
	dst = binary.AppendVarint(dst, int64(s.Status))
	dst = binary.AppendVarint(dst, s.FirstToken.Microseconds())
	dst = binary.AppendVarint(dst, s.Duration.Microseconds())
	dst = binary.AppendVarint(dst, int64(s.AtMost))
	dst = appendClasses(dst, s.Unpriced)
	if s.ProviderCost != nil {
		dst = binary.AppendVarint(dst, int64(*s.ProviderCost))
	}
	if s.ReplyID != "" {
		dst = appendText(dst, s.ReplyID)
	}
	dst = appendCached(appendMissed(appendServed(appendCharge(dst, s), &s.Served), &s.Missed), &s.Cached)
	return appendSizes(dst, s.Sizes)
}

func decodeSettle(payload []byte, known names) (id AttemptID, s Settlement, err error) {
	d := decoder{b: payload}
	id = d.id()
	d.settlement(&s, known)
	return id, s, d.finish("settle")
}

// settlement reads the output of appendSettlement.
func (d *decoder) settlement(s *Settlement, known names) {
	flags := d.uvarint()
	s.Counts, s.Billed, s.Ask = flags&flagCounts != 0, flags&flagBilled != 0, flags&flagAsk != 0
	s.Outcome = pick(d, outcomes)
	s.Provenance = pick(d, provenances)
	d.usage(&s.Usage)
	s.Cost = llm.Money(d.varint())
	s.Finish = llm.FinishReason(known.text(d.take(d.uvarint())))
	s.Tier = known.text(d.take(d.uvarint()))
	s.Code = llm.Code(d.text())
	s.Status = int(d.varint())
	s.FirstToken = time.Duration(d.varint()) * time.Microsecond
	s.Duration = time.Duration(d.varint()) * time.Microsecond
	if len(d.b) > 0 {
		s.AtMost = llm.Money(d.varint())
		s.Unpriced = d.classes()
	}
	if flags&flagProviderCost != 0 {
		s.ProviderCost = new(llm.Money(d.varint()))
	}
	if flags&flagReplyID != 0 {
		s.ReplyID = d.text()
	}
	d.charge(s, flags)
	s.Served = d.served(flags)
	s.Missed = d.missed(flags)
	s.Cached = d.cached(flags)
	s.Sizes = d.sizes(flags)
}

func appendPrice(dst []byte, p *llm.Price) []byte {
	dst, start := beginFrame(dst, recordPrice)
	dst = appendText(dst, p.Version)
	dst = appendTiers(dst, &p.Rates, p.Tiers)
	if p.Modes != nil {
		dst = binary.AppendUvarint(dst, uint64(len(p.Modes)))
	}
	for i := range p.Modes {
		m := &p.Modes[i]
		dst = appendText(dst, m.Name)
		dst = binary.AppendVarint(dst, m.Times)
		dst = appendTiers(dst, &m.Rates, m.Tiers)
	}
	return endFrame(dst, start)
}

func decodePrice(payload []byte) (p PriceRecord, err error) {
	d := decoder{b: payload}
	p.Version = d.text()
	p.Rates, p.Tiers = d.tiers()
	if len(d.b) > 0 {
		p.Modes = []llm.Mode{}
		for n := d.uvarint(); n > 0 && d.err == nil; n-- {
			m := llm.Mode{Name: d.text(), Times: d.varint()}
			m.Rates, m.Tiers = d.tiers()
			p.Modes = append(p.Modes, m)
		}
	}
	return p, d.finish("price")
}

func appendID(dst []byte, id AttemptID) []byte {
	return binary.AppendUvarint(append(dst, id.Request[:]...), uint64(id.N))
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendUsage(dst []byte, u *llm.Usage) []byte {
	at := len(dst)
	dst = append(dst, 0)
	for code, c := range classes {
		if n := u[c]; n != 0 {
			dst[at]++
			dst = binary.AppendVarint(append(dst, byte(code)), n)
		}
	}
	return dst
}

// appendClasses writes a set of classes as a bit set of their indexes.
func appendClasses(dst []byte, set llm.Classes) []byte {
	var bits uint64
	for code, c := range classes {
		if set.Has(c) {
			bits |= 1 << code
		}
	}
	return binary.AppendUvarint(dst, bits)
}

func indexOf[T ~string](words []T, w T) byte {
	for i := range words {
		if words[i] == w {
			return byte(i)
		}
	}
	return noWord
}

// noWord is the index of a missing value, which check rejects before it is written.
const noWord = math.MaxUint8

var (
	errShort  = errors.New("ends too early")
	errNoWord = errors.New("has an unknown word")
	// errNewer means that a newer weir wrote a record, and can read it.
	errNewer = errors.New("a newer weir wrote it: run that version")
)

// decoder reads a payload. After the first error all reads return zero values.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err, d.b = err, nil
	}
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail(errShort)
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) uvarint() uint64 { return number(d, binary.Uvarint) }
func (d *decoder) varint() int64   { return number(d, binary.Varint) }

func number[T int64 | uint64](d *decoder, read func([]byte) (T, int)) T {
	v, n := read(d.b)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) byte() byte {
	if b := d.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (d *decoder) text() string { return string(d.take(d.uvarint())) }

func (d *decoder) id() (id AttemptID) {
	copy(id.Request[:], d.take(uint64(len(id.Request))))
	n := d.uvarint()
	if n > math.MaxUint16 {
		d.fail(fmt.Errorf("attempt number %d", n))
	}
	id.N = uint16(n)
	return id
}

func (d *decoder) usage(u *llm.Usage) {
	for n := d.byte(); n > 0 && d.err == nil; n-- {
		if c := pick(d, classes); d.err == nil {
			u[c] = d.varint()
		}
	}
}

func (d *decoder) classes() (set llm.Classes) {
	bits := d.uvarint()
	if bits>>len(classes) != 0 {
		d.fail(fmt.Errorf("set of classes %b: %w", bits, errNewer))
	}
	for code, c := range classes {
		if bits&(1<<code) != 0 {
			set = set.With(c)
		}
	}
	return set
}

func pick[T any](d *decoder, words []T) (w T) {
	i := d.byte()
	switch {
	case i == noWord:
		d.fail(errNoWord)
		return w
	case int(i) >= len(words):
		d.fail(fmt.Errorf("word %d of %d: %w", i, len(words), errNewer))
		return w
	}
	return words[i]
}

func (d *decoder) finish(what string) error {
	if d.err != nil {
		return fmt.Errorf("journal record %s: %w", what, d.err)
	}
	return nil
}
