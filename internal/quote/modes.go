package quote

import (
	"strings"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxMode bounds the name of a mode that a provider reports.
const maxMode = 64

// ServedAs records the service tier in a header of the answer. The tier in the answer itself replaces it.
func (t *Tally) ServedAs(tier string) {
	if len(tier) <= maxMode {
		t.tier = tier
	}
}

// boundModes raises the bound of an answer whose request selects a service tier, a region or a speed, and whose
// provider does not report which one served it.
func (b openBound) boundModes() {
	s := b.settlement
	price := &b.Attempt.Price
	if len(price.Modes) == 0 || s.ProviderCost != nil {
		return
	}
	unreported := unreportedModes(b.Body, b.tier)
	if unreported == "" {
		return
	}
	own, asked := price.Cost(&s.Usage, s.Tier), price.Cost(&s.Usage, strings.Trim(s.Tier+","+unreported, ","))
	if asked != own {
		s.Provenance, s.AtMost = ledger.Estimated, max(s.AtMost, price.Dearest(max(own, asked)))
	}
}

// unreportedModes returns the modes that a request selects, separated by commas, of the kinds that the answer does not
// report.
//
// https://developers.openai.com/api/docs/guides/priority-processing,
// https://ai.google.dev/gemini-api/docs/priority-inference,
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ServiceTier.html,
// https://docs.aws.amazon.com/bedrock/latest/userguide/latency-optimized-inference.html,
// https://platform.claude.com/docs/en/build-with-claude/data-residency (undated copies).
func unreportedModes(body []byte, reported string) string {
	var modes []string
	add := func(kind string, value []byte) {
		name := rawjson.Text(value)
		if kind == "" && llm.ServiceTier(reported) != "" || kind != "" && strings.Contains(reported, kind) ||
			llm.ModeName(kind+name) == "" || len(name) > maxMode {
			return
		}
		modes = append(modes, kind+name)
	}
	for m := range rawjson.Members(body) {
		switch plain(m.Name()) {
		case "servicetier":
			if kind := rawjson.Get(m.Value, "type"); kind != nil { // Bedrock's
				add("", kind)
				continue
			}
			add("", m.Value)
		case "inferencegeo":
			add("geo:", m.Value)
		case "speed":
			add("speed:", m.Value)
		case "performanceconfig": // Bedrock's
			add("latency:", rawjson.Get(m.Value, "latency"))
		}
	}
	return strings.Join(modes, ",")
}
