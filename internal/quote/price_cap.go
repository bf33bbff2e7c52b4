package quote

import (
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// capMember is OpenRouter's field that selects the companies that may serve the request, and priceCaps its member
// with the highest prices, in US dollars for a million tokens or for a request
// (https://openrouter.ai/docs/guides/routing/provider-selection, undated copy, and
// https://openrouter.ai/docs/client-sdks/typescript/models/maxprice.md, stored copy of 2026). OpenRouter refuses the
// request if nobody serves the model within them.
const (
	capMember = "provider"
	priceCaps = "max_price"
)

// CapPrice adds the held prices of the target to the body for a reseller, as the highest that it may charge. It does
// not change a client's lower price.
func (q *Quote) CapPrice(body []byte) []byte {
	if !q.Quirks.CapsPrice || q.Op.Multipart || !q.Price.Known() || rawjson.KindOf(body) != rawjson.Object {
		return body
	}
	theirs := rawjson.Get(body, capMember, priceCaps)
	caps := []byte{'{'}
	for _, one := range []struct {
		name  string
		class llm.Class
	}{{"prompt", llm.Input}, {"completion", llm.Output}, {"request", llm.Requests}} {
		value := q.highest(one.class, rawjson.Get(theirs, one.name))
		if value == nil {
			continue
		}
		caps = rawjson.AppendMember(caps, one.name, value)
	}
	for m := range rawjson.Members(theirs) { // not capped here
		if !m.Is("prompt") && !m.Is("completion") && !m.Is("request") && len(caps) > 1 {
			caps = append(append(append(append(caps, ','), rawjson.AppendString(nil, m.Name())...), ':'), m.Value...)
		}
	}
	if len(caps) == 1 { // all classes are free
		return body
	}
	provider := append(append([]byte(`{"`+priceCaps+`":`), caps...), "}}"...)
	return rawjson.Splice(nil, body, rawjson.Set(body, capMember, provider))
}

// highest returns the held price of the class, or the client's if that is lower; nil if it is free or unknown.
func (o *Offer) highest(class llm.Class, theirs []byte) []byte {
	pico := o.Price.Rates[class].Pico()
	if pico == 0 {
		return nil
	}
	pico = pico * o.Price.Margin() / 1000
	text := llm.FormatRate(pico)
	if class == llm.Requests {
		text = llm.FormatUnitRate(pico)
	}
	ours, _ := strconv.ParseFloat(text, 64)
	if given, ok := price(theirs); ok && given < ours {
		return theirs
	}
	return []byte(text)
}

// price parses a client's price, a number or a string with one. It reports false for a value that is not above 0,
// because a reseller may read it as no limit.
func price(v []byte) (dollars float64, ok bool) {
	const longest = 32 // bytes
	text := string(v)
	if rawjson.KindOf(v) == rawjson.String {
		text = rawjson.Text(v)
	}
	if text == "" || len(text) > longest || strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, false
	}
	dollars, err := strconv.ParseFloat(text, 64)
	return dollars, err == nil && dollars > 0
}

// isPriceCap reports whether a field of a request has only highest prices, which a reseller obeys.
func (o *Offer) isPriceCap(m rawjson.Member) bool {
	if !o.Quirks.CapsPrice || !m.Is(capMember) || rawjson.KindOf(m.Value) != rawjson.Object {
		return false
	}
	for one := range rawjson.Members(m.Value) {
		if !one.Is(priceCaps) {
			return false
		}
		for cap := range rawjson.Members(one.Value) {
			if _, ok := price(cap.Value); !ok {
				return false
			}
		}
	}
	return true
}
