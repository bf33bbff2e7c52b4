package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// micros converts a time to its stored form, microseconds.
func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// microsOrNil converts an optional time to its stored form.
func microsOrNil(t *time.Time) any {
	if t == nil {
		return nil
	}
	return micros(*t)
}

// dayOf returns the UTC date in its stored form, yyyymmdd.
func dayOf(t time.Time) int64 {
	y, m, d := t.UTC().Date()
	return int64(y)*1e4 + int64(m)*100 + int64(d)
}

// hourOf returns the UTC hour in its stored form, yyyymmddhh.
func hourOf(t time.Time) int64 { return dayOf(t)*100 + int64(t.UTC().Hour()) }

// dateText formats a stored date as time.DateOnly.
func dateText(day int64) string {
	return fmt.Sprintf("%04d-%02d-%02d", day/1e4, day/100%100, day%100)
}

// timeOfDay returns the start of a stored day. A day after the end of its month is one of the next month.
func timeOfDay(day int64) time.Time {
	return time.Date(int(day/1e4), time.Month(day/100%100), int(day%100), 0, 0, 0, 0, time.UTC)
}

// hourText formats a stored hour as RFC 3339.
func hourText(hour int64) string {
	return fmt.Sprintf("%sT%02d:00:00Z", dateText(hour/100), hour%100)
}

// lastHour is the highest stored hour; minutes, yyyymmddhhmm, are greater numbers.
const lastHour = lastDay*100 + 99

// periodText formats a stored date, minute, hour or month (yyyymm) for reports.
func periodText(period int64) string {
	switch {
	case period > lastHour:
		return fmt.Sprintf("%sT%02d:%02d:00Z", dateText(period/10_000), period/100%100, period%100)
	case period > lastDay:
		return hourText(period)
	case period > 0 && period <= lastDay/100:
		return fmt.Sprintf("%04d-%02d", period/100, period%100)
	}
	return dateText(period)
}

// parseDate parses time.DateOnly; for an empty text it returns empty.
func parseDate(text string, empty int64) (int64, error) {
	if text == "" {
		return empty, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, fmt.Errorf("date %q does not have the form %s", text, time.DateOnly)
	}
	return dayOf(t), nil
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// encodeCounts encodes the classes that are not 0 as a JSON object.
func encodeCounts(counts *[llm.NumClasses]int64) string {
	var buf [128]byte
	return string(appendCounts(buf[:0], counts))
}

// appendCounts appends the output of encodeCounts.
func appendCounts(dst []byte, counts *[llm.NumClasses]int64) []byte {
	from := len(dst)
	dst = append(dst, '{')
	for c, n := range counts {
		if n == 0 {
			continue
		}
		if len(dst) > from+1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), llm.Class(c).String()...), `":`...)
		dst = strconv.AppendInt(dst, n, 10)
	}
	return append(dst, '}')
}

var errCounts = errors.New("not a JSON object of counts by class as weir writes it")

// decodeCounts decodes the output of encodeCounts.
func decodeCounts(text string) (counts [llm.NumClasses]int64, err error) {
	err = eachCount(text, func(name string, n int64) bool {
		c, ok := llm.ParseClass(name)
		if ok {
			counts[c] = n
		}
		return ok
	})
	return counts, err
}

// eachCount calls set with each member of a JSON object of numbers; set reports whether it knows the name.
func eachCount(text string, set func(name string, n int64) bool) error {
	body, ok := strings.CutPrefix(text, "{")
	body, closed := strings.CutSuffix(body, "}")
	if !ok || !closed {
		return fmt.Errorf("counts %q: %w", text, errCounts)
	}
	for body != "" {
		var pair string
		pair, body, _ = strings.Cut(body, ",")
		name, digits, _ := strings.Cut(pair, ":")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || !set(strings.Trim(name, `"`), n) {
			return fmt.Errorf("counts %q: %w", text, errCounts)
		}
	}
	return nil
}

// storedTier and storedMode are the stored forms of a price's tier and mode.
type (
	storedTier struct {
		Above int64           `json:"above"`
		Rates json.RawMessage `json:"rates"`
	}
	storedMode struct {
		Name  string          `json:"name"`
		Times int64           `json:"times,omitempty"`
		Rates json.RawMessage `json:"rates,omitempty"`
		Tiers []storedTier    `json:"tiers,omitempty"`
	}
)

// encodeRates encodes the known rates as a JSON object, with 0 for free classes.
func encodeRates(r *llm.Rates) json.RawMessage {
	dst := []byte{'{'}
	for c, rate := range r {
		if !rate.Known() {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		name, pico := llm.Class(c).String(), rate.Pico()
		if llm.Class(c) == llm.Milliseconds {
			if name = secondName; pico%millisPerSecond == 0 { // as earlier versions, which read nothing else
				name, pico = llm.Milliseconds.String(), pico/millisPerSecond
			}
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
		dst = strconv.AppendInt(dst, pico, 10)
	}
	return append(dst, '}')
}

// secondName is the name of the rate of a second that is no whole number of pico-dollars for a millisecond.
const (
	secondName      = "second"
	millisPerSecond = 1000
)

// decodeRates decodes the output of encodeRates.
func decodeRates(text []byte) (r llm.Rates, err error) {
	err = eachCount(string(text), func(name string, n int64) bool {
		c, ok := llm.ParseClass(name)
		switch {
		case name == secondName:
			c, ok = llm.Milliseconds, true
		case c == llm.Milliseconds:
			if n > math.MaxInt64/millisPerSecond {
				return false
			}
			n *= millisPerSecond
		}
		if ok {
			r[c] = llm.RateOf(n)
		}
		return ok
	})
	return r, err
}

func encodeTiers(tiers []llm.Tier) []storedTier {
	list := make([]storedTier, len(tiers))
	for i := range tiers {
		list[i] = storedTier{tiers[i].Above, encodeRates(&tiers[i].Rates)}
	}
	return list
}

func decodeTiers(list []storedTier) (tiers []llm.Tier, err error) {
	for _, t := range list {
		r, err := decodeRates(t.Rates)
		if err != nil {
			return nil, fmt.Errorf("tiers: %w", err)
		}
		tiers = append(tiers, llm.Tier{Above: t.Above, Rates: r})
	}
	return tiers, nil
}

// storedPrice holds the columns rates, tiers and modes of a price.
type storedPrice struct{ rates, tiers, modes string }

func encodePrice(p *ledger.PriceRecord) (c storedPrice, err error) {
	var modes []storedMode
	if p.Modes != nil {
		modes = []storedMode{}
	}
	for i := range p.Modes {
		m := &p.Modes[i]
		stored := storedMode{Name: m.Name, Times: m.Times}
		if m.Times == 0 {
			stored.Rates, stored.Tiers = encodeRates(&m.Rates), encodeTiers(m.Tiers)
		}
		modes = append(modes, stored)
	}
	tiers, err := json.Marshal(encodeTiers(p.Tiers))
	if err != nil {
		return c, err
	}
	text, err := json.Marshal(modes)
	return storedPrice{string(encodeRates(&p.Rates)), string(tiers), string(text)}, err
}

// decodePrice decodes the output of encodePrice.
func decodePrice(version string, c storedPrice) (llm.Price, error) {
	p := llm.Price{Version: version}
	err := c.into(&p)
	if err != nil {
		err = fmt.Errorf("price %q: %w", version, err)
	}
	return p, err
}

func (c *storedPrice) into(p *llm.Price) (err error) {
	var tiers []storedTier
	var modes []storedMode
	if err = errors.Join(json.Unmarshal([]byte(c.tiers), &tiers), json.Unmarshal([]byte(c.modes), &modes)); err != nil {
		return err
	}
	if p.Rates, err = decodeRates([]byte(c.rates)); err != nil {
		return err
	}
	if p.Tiers, err = decodeTiers(tiers); err != nil {
		return err
	}
	if modes != nil {
		p.Modes = []llm.Mode{}
	}
	for _, stored := range modes {
		m := llm.Mode{Name: stored.Name, Times: stored.Times}
		if stored.Rates != nil {
			m.Rates, err = decodeRates(stored.Rates)
		}
		if err != nil {
			return err
		}
		if m.Tiers, err = decodeTiers(stored.Tiers); err != nil {
			return err
		}
		p.Modes = append(p.Modes, m)
	}
	return nil
}
