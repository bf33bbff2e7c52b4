package ledger

import (
	"encoding/binary"

	"weir/internal/budget"
	"weir/internal/llm"
)

// These flags of an open record follow flagStream.
const (
	flagUser = flagStream << (1 + iota)
	flagTags
	flagParts  = flagTags << 2 // after flagTerms
	flagRegion = flagParts << 1
)

// attributionFlags returns the flags of the fields at the end of an open record. An older program ignores these fields,
// because it stops reading before them.

func attributionFlags(a *Attempt) (flags uint64) {
	if a.Attribution.User != "" {
		flags |= flagUser
	}
	if len(a.Attribution.Tags) > 0 {
		flags |= flagTags
	}
	if a.Parts != 0 {
		flags |= flagParts
	}
	if a.Region != "" {
		flags |= flagRegion
	}
	return flags
}

func appendAttribution(dst []byte, a *llm.Attribution) []byte {
	if a.User != "" {
		dst = appendText(dst, a.User)
	}
	if len(a.Tags) > 0 {
		dst = binary.AppendUvarint(dst, uint64(len(a.Tags)))
	}
	for _, t := range a.Tags {
		dst = appendText(appendText(dst, t.Name), t.Value)
	}
	return dst
}

// appendParts writes the parts, which follow the terms.
func appendParts(dst []byte, p budget.Parts) []byte {
	if p == 0 {
		return dst
	}
	return binary.AppendUvarint(dst, uint64(p))
}

// appendRegion writes the region, which follows the parts.
func appendRegion(dst []byte, region string) []byte {
	if region == "" {
		return dst
	}
	return appendText(dst, region)
}

func (d *decoder) region(flags uint64, known names) string {
	if flags&flagRegion == 0 {
		return ""
	}
	return known.text(d.take(d.uvarint()))
}

func (d *decoder) parts(flags uint64) budget.Parts {
	if flags&flagParts == 0 {
		return 0
	}
	return budget.Parts(d.uvarint())
}

func (d *decoder) attribution(flags uint64, known names) (a llm.Attribution) {
	if flags&flagUser != 0 {
		a.User = d.text()
	}
	if flags&flagTags == 0 {
		return a
	}
	n := d.uvarint()
	a.Tags = make([]llm.Tag, 0, min(n, llm.MaxTags))
	for ; n > 0 && d.err == nil; n-- {
		a.Tags = append(a.Tags, llm.Tag{Name: known.text(d.take(d.uvarint())), Value: d.text()})
	}
	return a
}

// names interns texts that records repeat: accounts, keys, providers, models. A nil map interns none.
type names map[string]string

// maxNames bounds the number of interned texts. At the bound all are dropped.
const maxNames = 4096

// text returns b as a string, and allocates only for texts that are not interned yet.
func (n names) text(b []byte) string {
	s, ok := n[string(b)]
	if ok {
		return s
	}
	s = string(b)
	if n != nil {
		if len(n) >= maxNames {
			clear(n)
		}
		n[s] = s
	}
	return s
}
