//go:build unix

package crashtest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/internal/llm"
)

// request names a requested model, and its frequency. The model's name controls the simulator.
type request struct {
	model  string
	weight int
}

// clientAPIs lists the providers of the configuration, which are all the one simulator in different wire formats: their
// names, by dialect, and their paths.
func clientAPIs() map[string]struct{ provider, path string } {
	return map[string]struct{ provider, path string }{
		"openai":    {"house", "/v1"},
		"responses": {"responding", "/v1"},
		"anthropic": {"human", "/v1"},
		"gemini":    {"twin", "/v1beta"},
		"bedrock":   {"rock", ""},
		"cohere":    {"coherent", "/v2"},
		"ollama":    {"llama", ""},
	}
}

// requests returns the mixture of the load. Most answers are slow, so that every kill interrupts requests at every
// stage.
func requests() []request {
	all := simulatedRequests()
	for _, clientAPI := range clientAPIs() {
		if clientAPI.provider != "house" {
			all = append(all,
				request{clientAPI.provider + "/chat:ttft=20ms,pace=3ms,tokens=30", 3},
				request{clientAPI.provider + "/chat:tokens=5", 1},
				request{clientAPI.provider + "/chat:pace=2ms,tokens=30,fault=cut,at=10", 1},
			)
		}
	}
	slices.SortFunc(all, func(a, b request) int { return strings.Compare(a.model, b.model) }) // a seed generates the same load
	return all
}

func simulatedRequests() []request {
	return []request{
		{"house/chat:tokens=3", 10},
		{"house/chat:ttft=40ms,pace=3ms,tokens=40", 12},
		{"house/chat:ttft=120ms,pace=8ms,tokens=60", 10},
		{"house/chat:pace=2ms,tokens=150,unicode", 5},
		{"house/chat:ttft=10ms,tokens=20,cached=8", 6},
		{"house/chat:ttft=5ms,pace=1ms,tokens=30,chunk=7,eol=crlf,comments", 3},
		{"house/echo:pace=2ms", 4},
		{"house/reason:ttft=20ms,pace=2ms,reasoning=12,tokens=30", 6},
		{"house/chat:tokens=25,pace=1ms", 4},
		{"house/chat:ttft=60ms,pace=6ms,tokens=60,after=bill", 5},
		{"house/chat:ttft=60ms,pace=4ms,tokens=40,reasoning=90,after=bill", 5},
		{"house/chat:pace=2ms,tokens=80,reasoning=30,fault=cut,at=10,after=bill", 2},
		{"house/chat:ttft=2s,tokens=50,after=bill", 1},
		{"house/chat:pace=1ms,tokens=30,late=40ms,after=bill", 3},
		{"house/chat:tokens=20,usage=missing", 3},
		{"house/chat:status=429,retry_after=1", 2},
		{"house/chat:status=500", 2},
		{"house/chat:status=503,rate=0.5", 3},
		{"house/chat:fault=quota", 1},
		{"house/chat:pace=3ms,tokens=40,fault=cut,at=10", 3},
		{"house/chat:pace=3ms,tokens=40,fault=cut-reset,at=10", 2},
		{"house/chat:pace=2ms,fault=eof,at=12", 2},
		{"house/chat:pace=2ms,fault=no-end", 2},
		{"house/chat:pace=2ms,fault=error-event,at=6", 2},
		{"house/chat:fault=reset", 2},
		{"house/chat:fault=silence", 1},
		{"house/chat:pace=2ms,fault=stall,at=5", 2},
		{"house/chat:fault=html", 1},
		{"shaky", 5},
		{"broken", 4},
		{"late", 2},
		{"nobody", 3},
		{"mended", 6},
		{"torn", 2},
		{"across", 4},
	}
}

// aliases returns aliases with a second target for failures of the first: also in mid-stream, where the model echo
// gives the same answer at each target, and chat a different one.
func aliases() map[string][]string {
	good := "house/chat:ttft=30ms,pace=2ms,tokens=30"
	return map[string][]string{
		"shaky":  {"house/chat:status=500,rate=0.7", good},
		"broken": {"house/chat:ttft=20ms,fault=reset", "house/chat:ttft=10ms,status=503", good},
		"late":   {"house/chat:fault=headers-silence", good},
		"nobody": {"nowhere/chat", good},
		"mended": {"house/echo:pace=3ms,fault=cut,at=4", "house/echo:pace=1ms,ttft=5ms"},
		"across": {"human/echo:pace=3ms,fault=cut,at=4", "rock/echo:pace=2ms,fault=cut,at=9", "twin/echo:pace=1ms"},
		"torn":   {"house/chat:pace=3ms,tokens=30,fault=stall,at=6", good},
	}
}

// counting returns the models for token counts: by their provider, for nothing, and by the gateway, because theirs does
// not count in that wire format. They receive no other requests.
func counting() []string { return []string{"human/chat:tokens=2", "twin/chat:tokens=2"} }

// unpriced is the only model without a price.
const unpriced = "house/echo:pace=2ms"

// models returns all models of the load by their full names.
func models() []string {
	all := map[string]bool{}
	for _, d := range requests() {
		if strings.Contains(d.model, "/") {
			all[d.model] = true
		}
	}
	for _, model := range counting() {
		all[model] = true
	}
	for _, targets := range aliases() {
		for _, model := range targets {
			all[model] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// priceList has the rates of a model in US dollars, by class: per million tokens, and per request.
type priceList map[string]string

// priceOf spreads three lists over the models. Their rates are not whole nano-dollars, so that rounding shows; nil is
// no price.
func priceOf(model string) priceList {
	if model == unpriced {
		return nil
	}
	lists := []priceList{
		{"input": "0.1537", "output": "0.6113"},
		{"input": "2.5003", "output": "10.0007", "cache_read": "0.2501", "reasoning": "12.0009"},
		{"input": "0.0799", "output": "0.3201", "request": "0.000013"},
	}
	if slices.Contains(counting(), model) {
		return lists[2] // a count is free, even if a request costs money
	}
	return lists[slices.Index(models(), model)%len(lists)]
}

// price converts the list to a price: an absent class costs the same as input or output.
func (l priceList) price() (p llm.Price, err error) {
	for c := range llm.NumClasses {
		class := llm.Class(c)
		parse, text, ok := llm.ParseRate, "", false
		switch {
		case class.IsInput():
			text, ok = l["input"], true
		case class.IsOutput():
			text, ok = l["output"], true
		default:
			parse = llm.ParseUnitRate
		}
		if own, has := l[class.String()]; has {
			text, ok = own, true
		}
		if !ok {
			continue
		}
		pico, err := parse(text)
		if err != nil {
			return p, err
		}
		p.Rates[c] = llm.RateOf(pico)
	}
	p.Version = "recomputed"
	return p, nil
}

// prices returns the prices of all models that have one.
func prices() (map[string]llm.Price, error) {
	all := map[string]llm.Price{}
	for _, model := range models() {
		list := priceOf(model)
		if list == nil {
			continue
		}
		p, err := list.price()
		if err != nil {
			return nil, fmt.Errorf("price of %s: %w", model, err)
		}
		all[model] = p
	}
	return all, nil
}

// configuration returns weir.yaml for a simulator at that address.
func configuration(simulator, data string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "data: %q\ndrain_timeout: 500ms\nproviders:\n", data)
	const timeouts = "{connect: 1s, first_byte: 1s, idle: 500ms, total: 10s}"
	for _, dialect := range slices.Sorted(maps.Keys(clientAPIs())) {
		clientAPI := clientAPIs()[dialect]
		fmt.Fprintf(&b, "  %s: {dialect: %s, base_url: %q, allow_private: true, prefill: no, api_keys: [one, two], timeouts: %s}\n",
			clientAPI.provider, dialect, "http://"+simulator+clientAPI.path, timeouts)
	}
	fmt.Fprintf(&b, "  nowhere: {dialect: openai, base_url: \"http://127.0.0.1:1/v1\", allow_private: true, api_keys: [none], timeouts: %s}\n", timeouts)
	b.WriteString("aliases:\n")
	for _, name := range slices.Sorted(maps.Keys(aliases())) {
		fmt.Fprintf(&b, "  %s: {targets: [%s]}\n", name, quoted(aliases()[name]))
	}
	b.WriteString("prices:\n")
	for _, model := range models() {
		list := priceOf(model)
		for i, class := range slices.Sorted(maps.Keys(list)) {
			if i == 0 {
				fmt.Fprintf(&b, "  %q:\n", model)
			}
			fmt.Fprintf(&b, "    %s: %q\n", class, list[class])
		}
	}
	return b.String()
}

func quoted(words []string) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(all, ", ")
}
