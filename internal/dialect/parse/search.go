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

// Domains are the texts of a list of domains; what is no text is left out.
func Domains(v []byte) (list []string) {
	for _, e := range rawjson.Elements(v) {
		if s := rawjson.Text(e); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// BlockClaims are the citations of a whole block of text, each of which names a source.
func BlockClaims(text string, citations []byte, source func(v []byte) llm.Source) (claims []llm.Claim) {
	for _, v := range rawjson.Elements(citations) {
		claims = append(claims, llm.Claim{End: len(text), Source: source(v)})
	}
	return claims
}
