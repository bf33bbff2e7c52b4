package parse

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// ReadPlace reads the user's location from an object that Anthropic and OpenAI share.
func ReadPlace(s *llm.WebSearch, v []byte) {
	s.City, s.Region = rawjson.Text(rawjson.Get(v, "city")), rawjson.Text(rawjson.Get(v, "region"))
	s.Country, s.Timezone = rawjson.Text(rawjson.Get(v, "country")), rawjson.Text(rawjson.Get(v, "timezone"))
}

// StringsIn returns the non-empty strings of a list and skips all other elements.
func StringsIn(v []byte) (list []string) {
	for _, e := range rawjson.Elements(v) {
		if s := rawjson.Text(e); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// MaxSources bounds the sources, citations or queries read from a list, because each takes many times the memory of
// the smallest element. Further ones are skipped.
const MaxSources = 4096

// Sources reads at most that many sources from a list. It skips empty ones.
func Sources(list []byte, most int, source func(v []byte) llm.Source) (all []llm.Source) {
	for _, v := range rawjson.Elements(list) {
		if len(all) >= most {
			break
		}
		if s := source(v); s != (llm.Source{}) {
			all = append(all, s)
		}
	}
	return all
}

// BlockClaims returns the citations of a whole block of text as claims. source reads one citation.
func BlockClaims(text string, citations []byte, source func(v []byte) llm.Source) (claims []llm.Claim) {
	for _, s := range Sources(citations, MaxSources, source) {
		claims = append(claims, llm.Claim{End: len(text), Source: s})
	}
	return claims
}

// Queries reads the queries of a search.
func Queries(list []byte) (all []string) {
	for _, v := range rawjson.Elements(list) {
		if query := rawjson.Text(v); query != "" && len(all) < MaxSources {
			all = append(all, query)
		}
	}
	return all
}
