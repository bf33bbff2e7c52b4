package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// micros is a time as it is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// microsOrNil is a time that may be absent as it is stored.
func microsOrNil(t *time.Time) any {
	if t == nil {
		return nil
	}
	return micros(*t)
}

// dayOf is a UTC date as it is stored, yyyymmdd.
func dayOf(t time.Time) int64 {
	y, m, d := t.UTC().Date()
	return int64(y)*1e4 + int64(m)*100 + int64(d)
}

// hourOf is a UTC hour as it is stored, yyyymmddhh.
func hourOf(t time.Time) int64 { return dayOf(t)*100 + int64(t.UTC().Hour()) }

// dateText is a stored date in ledger.DateLayout.
func dateText(day int64) string {
	return fmt.Sprintf("%04d-%02d-%02d", day/1e4, day/100%100, day%100)
}

// timeOfDay is when a stored day begins. A day behind the last one of its month is
// one of the next months.
func timeOfDay(day int64) time.Time {
	return time.Date(int(day/1e4), time.Month(day/100%100), int(day%100), 0, 0, 0, 0, time.UTC)
}

// hourText is a stored hour in RFC 3339.
func hourText(hour int64) string {
	return fmt.Sprintf("%sT%02d:00:00Z", dateText(hour/100), hour%100)
}

// periodText is a stored date or hour as reports show it.
func periodText(period int64) string {
	if period > lastDay {
		return hourText(period)
	}
	return dateText(period)
}

// parseDate reads ledger.DateLayout; empty gives the bound itself.
func parseDate(text string, empty int64) (int64, error) {
	if text == "" {
		return empty, nil
	}
	t, err := time.Parse(ledger.DateLayout, text)
	if err != nil {
		return 0, fmt.Errorf("date %q: not of the form %s", text, ledger.DateLayout)
	}
	return dayOf(t), nil
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// encodeCounts writes the classes that are not 0 as a JSON object.
func encodeCounts(counts *[llm.NumClasses]int64) string {
	var buf [128]byte
	return string(appendCounts(buf[:0], counts))
}

// appendCounts appends what encodeCounts writes.
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

// decodeCounts reads what encodeCounts wrote.
func decodeCounts(text string) (counts [llm.NumClasses]int64, err error) {
	body, ok := strings.CutPrefix(text, "{")
	body, closed := strings.CutSuffix(body, "}")
	if !ok || !closed {
		return counts, fmt.Errorf("counts %q: %w", text, errCounts)
	}
	for body != "" {
		var pair string
		pair, body, _ = strings.Cut(body, ",")
		name, digits, _ := strings.Cut(pair, ":")
		class, ok := llm.ParseClass(strings.Trim(name, `"`))
		n, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil {
			return counts, fmt.Errorf("counts %q: %w", text, errCounts)
		}
		counts[class] = n
	}
	return counts, nil
}

// storedTier is a price's tier as it is stored.
type storedTier struct {
	Above int64           `json:"above"`
	Rates json.RawMessage `json:"rates"`
}

// encodePrice gives the columns rates and tiers.
func encodePrice(p *ledger.PriceRecord) (rates, tiers string, err error) {
	list := make([]storedTier, len(p.Tiers))
	for i := range p.Tiers {
		list[i] = storedTier{p.Tiers[i].Above, json.RawMessage(encodeCounts((*[llm.NumClasses]int64)(&p.Tiers[i].Rates)))}
	}
	b, err := json.Marshal(list)
	return encodeCounts((*[llm.NumClasses]int64)(&p.Rates)), string(b), err
}

// decodePrice reads what encodePrice wrote.
func decodePrice(version, rates, tiers string) (llm.Price, error) {
	p := llm.Price{Version: version}
	counts, err := decodeCounts(rates)
	if err != nil {
		return p, fmt.Errorf("price %q: %w", version, err)
	}
	p.Rates = counts
	var list []storedTier
	if err := json.Unmarshal([]byte(tiers), &list); err != nil {
		return p, fmt.Errorf("price %q: tiers: %w", version, err)
	}
	for _, t := range list {
		counts, err := decodeCounts(string(t.Rates))
		if err != nil {
			return p, fmt.Errorf("price %q: tiers: %w", version, err)
		}
		p.Tiers = append(p.Tiers, llm.Tier{Above: t.Above, Rates: counts})
	}
	return p, nil
}
