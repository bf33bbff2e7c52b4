package parse

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// ReadPlace reads where the user is, of an object that Anthropic and OpenAI share.
func ReadPlace(s *llm.WebSearch, v []byte) {
	s.City, s.Region = rawjson.Text(rawjson.Get(v, "city")), rawjson.Text(rawjson.Get(v, "region"))
	s.Country, s.Timezone = rawjson.Text(rawjson.Get(v, "country")), rawjson.Text(rawjson.Get(v, "timezone"))
}

// StringsIn returns the strings of a list, and leaves out empty ones and all else.
func StringsIn(v []byte) (list []string) {
	for _, e := range rawjson.Elements(v) {
		if s := rawjson.Text(e); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// MaxSources bounds what is read of a list of sources, citations or queries: what is read takes many times the memory of
// the least element. Further ones are passed over.
const MaxSources = 4096

// Sources are those of a list, so many at most. An element that names nothing is none.
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

// BlockClaims returns the citations of a whole block of text as claims. The function source reads what one names.
func BlockClaims(text string, citations []byte, source func(v []byte) llm.Source) (claims []llm.Claim) {
	for _, s := range Sources(citations, MaxSources, source) {
		claims = append(claims, llm.Claim{End: len(text), Source: s})
	}
	return claims
}

// Queries are those of a search.
func Queries(list []byte) (all []string) {
	for _, v := range rawjson.Elements(list) {
		if query := rawjson.Text(v); query != "" && len(all) < MaxSources {
			all = append(all, query)
		}
	}
	return all
}
