package ledger

import (
	"encoding/binary"
	"math"

	"weir/internal/llm"
)

func appendTiers(dst []byte, r *llm.Rates, tiers []llm.Tier) []byte {
	dst = appendRates(dst, r)
	dst = binary.AppendUvarint(dst, uint64(len(tiers)))
	for i := range tiers {
		dst = binary.AppendVarint(dst, tiers[i].Above)
		dst = appendRates(dst, &tiers[i].Rates)
	}
	return dst
}

// codeSecond is the code of the rate of a second that is no whole number of pico-dollars for a millisecond.
const (
	codeSecond      = 0xff
	millisPerSecond = 1000
)

// appendRates writes the known rates.
func appendRates(dst []byte, r *llm.Rates) []byte {
	at := len(dst)
	dst = append(dst, 0)
	for code, c := range classes {
		if r[c].Known() {
			dst[at]++
			code, pico := byte(code), r[c].Pico()
			if c == llm.Milliseconds {
				if pico%millisPerSecond == 0 { // as earlier versions, which read nothing else
					pico /= millisPerSecond
				} else {
					code = codeSecond
				}
			}
			dst = binary.AppendVarint(append(dst, code), pico)
		}
	}
	return dst
}

func (d *decoder) rates() (r llm.Rates) {
	for n := d.byte(); n > 0 && d.err == nil; n-- {
		if len(d.b) > 0 && d.b[0] == codeSecond {
			d.byte()
			r[llm.Milliseconds] = llm.RateOf(d.varint())
			continue
		}
		c := pick(d, classes)
		pico := d.varint()
		if c == llm.Milliseconds {
			pico = min(pico, math.MaxInt64/millisPerSecond) * millisPerSecond
		}
		if d.err == nil {
			r[c] = llm.RateOf(pico)
		}
	}
	return r
}

func (d *decoder) tiers() (r llm.Rates, tiers []llm.Tier) {
	r = d.rates()
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		tiers = append(tiers, llm.Tier{Above: d.varint(), Rates: d.rates()})
	}
	return r, tiers
}
