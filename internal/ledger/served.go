package ledger

import "weir/internal/llm"

// Served says which model answered an attempt.
type Served struct {
	// Model is the provider's name of the model that answered, if it differs from the attempt's; empty if it does not,
	// or if the provider reports none.
	Model string
	// Other reports that it is another model than the attempt's, and not another name of the same one.
	Other bool
	// Price replaces the attempt's price; nil keeps it. It is part of the journal's settlement. A row has only the
	// price that counts, in its attempt.
	Price *llm.Price
}

// maxServed bounds the served model's name, which comes from the provider, in bytes.
const maxServed = 128

// take sets the attempt's price to that of the model that answered.
func (a *Attempt) take(s *Settlement) {
	if s.Served.Price != nil {
		a.Price = *s.Served.Price
	}
}

// The served model stands at the end of a settlement and is marked by flags, as terms are.
const (
	flagServed = flagChargeUnpriced << (1 + iota)
	flagOther
	flagServedPrice
)

func servedFlags(s *Served) (flags uint64) {
	if s.Model != "" {
		flags |= flagServed
	}
	if s.Other {
		flags |= flagOther
	}
	if s.Price != nil {
		flags |= flagServedPrice
	}
	return flags
}

func appendServed(dst []byte, s *Served) []byte {
	if s.Model != "" {
		dst = appendText(dst, s.Model)
	}
	if s.Price != nil {
		dst = appendText(dst, s.Price.Version)
	}
	return dst
}

func (d *decoder) served(flags uint64) (s Served) {
	if flags&flagServed != 0 {
		s.Model = d.text()
	}
	s.Other = flags&flagOther != 0
	if flags&flagServedPrice != 0 {
		s.Price = &llm.Price{Version: d.text()}
	}
	return s
}
