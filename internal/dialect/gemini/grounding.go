package gemini

import (
	"bytes"
	"hash/fnv"
	"io"
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// serverTools returns the tools that Google runs, by the names of their members in both spellings. Running code and
// reading pages costs only tokens (https://ai.google.dev/gemini-api/docs/code-execution); the use of the others follows
// from the grounding of the answer.
func serverTools() []dialect.Tool {
	return []dialect.Tool{
		{Prefix: "googlesearch", Class: llm.Searches, Free: true},
		{Prefix: "google_search", Class: llm.Searches, Free: true},
		{Prefix: "googlemaps", Class: llm.Maps},
		{Prefix: "google_maps", Class: llm.Maps},
		{Prefix: "filesearch", Class: llm.FileSearches},
		{Prefix: "file_search", Class: llm.FileSearches},
		{Prefix: "codeexecution", Class: llm.Output},
		{Prefix: "code_execution", Class: llm.Output},
		{Prefix: "urlcontext", Class: llm.Input},
		{Prefix: "url_context", Class: llm.Input},
	}
}

// grounding holds the grounding of an answer, over all pieces of a stream.
type grounding struct {
	queries  map[uint64]bool // searches of the web, by a hash of their words; nil for none
	searched bool            // the answer reports a web search
	pages    bool            // it cites web pages
	places   bool            // it cites places on a map
	files    bool            // it cites files of the customer
	mixed    bool            // it also read pages or ran code
	byPrompt bool            // searches are charged per prompt
	onCloud  bool            // Google Cloud served the request
}

// maxSearches bounds the counted searches of an answer.
const maxSearches = 1000

// read adds the groundingMetadata of a candidate, and its other data about tools.
func (g *grounding) read(c *candidate) {
	v := c.grounding
	g.mixed = g.mixed || rawjson.Present(c.read) || bytes.Contains(c.parts, []byte("executableCode"))
	g.searched = g.searched || rawjson.Present(get(v, "searchEntryPoint"))
	for _, query := range rawjson.Elements(get(v, "webSearchQueries")) {
		g.searched = true
		g.search(rawjson.Text(query))
	}
	for _, chunk := range rawjson.Elements(get(v, "groundingChunks")) {
		for m := range rawjson.Members(chunk) {
			switch string(spelled(m.Key())) {
			case "web":
				g.pages = true
			case "maps":
				g.places = true
			case "retrievedContext":
				g.files = true
			}
		}
	}
}

// search stores a web search. Google counts distinct searches, and no empty ones
// (https://ai.google.dev/gemini-api/docs/google-search, 2026-09-23).
func (g *grounding) search(query string) {
	if query == "" || len(g.queries) == maxSearches {
		return
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, query) // never fails
	if g.queries == nil {
		g.queries = map[uint64]bool{}
	}
	g.queries[h.Sum64()] = true
}

// size returns a measure that grows when a piece of a stream reports more.
func (g *grounding) size() int {
	n := len(g.queries)
	for _, is := range []bool{g.searched, g.pages, g.places, g.files, g.mixed} {
		if is {
			n++
		}
	}
	return n
}

// served records the model of the answer and its seller. Models before Gemini 3 are charged per grounded prompt, later
// ones per search (https://ai.google.dev/gemini-api/docs/google-search). Only Google Cloud reports how it served a
// request.
func (g *grounding) served(model, usage []byte) {
	if name := bytes.Trim(model, `"`); len(name) > 0 {
		name = name[bytes.LastIndexByte(name, '/')+1:]
		g.byPrompt = bytes.HasPrefix(name, []byte("gemini-1")) || bytes.HasPrefix(name, []byte("gemini-2"))
	}
	g.onCloud = g.onCloud || rawjson.Present(get(usage, "trafficType"))
}

// addTo adds the charged tool use. Google Cloud charges for no search without a web page in the answer
// (https://cloud.google.com/vertex-ai/generative-ai/pricing); the Gemini API charges for each prompt with a search,
// whether or not its answer names pages (https://ai.google.dev/gemini-api/docs/google-search, 2026-09-23). Grounding on
// the customer's own data has a fee on Google Cloud, but not in the Gemini API
// (https://ai.google.dev/gemini-api/docs/pricing). The number of map searches is not reported: they count as one.
// Running code and reading pages has no fee. The text that a web search found is not charged as input
// (https://ai.google.dev/gemini-api/docs/pricing), unlike that of other tools; if one count contains both, all of it is
// input.
func (g *grounding) addTo(u *llm.Usage, toolUse int64) {
	switch {
	case g.byPrompt && (g.pages || g.searched && !g.onCloud):
		u[llm.Searches] = 1
	case !g.byPrompt && (g.pages || !g.onCloud):
		u[llm.Searches] = int64(len(g.queries))
	}
	if g.places {
		u[llm.Maps] = 1
	}
	if g.files && g.onCloud {
		u[llm.FileSearches] = 1
	}
	if u[llm.Searches] > 0 && !g.mixed && !g.places && !g.files && u[llm.Citation] == 0 {
		u[llm.Citation] = min(toolUse, u[llm.Input])
		u[llm.Input] -= u[llm.Citation]
	}
}

// modesOf returns the modes of an answer by its usage: the service tier of the Gemini API
// (https://ai.google.dev/gemini-api/docs/pricing) or the kind of traffic of Google Cloud
// (https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse).
func modesOf(usage []byte) string {
	switch tier := get(usage, "serviceTier"); string(tier) {
	case "", "null":
	case `"standard"`:
		return "standard"
	default:
		return rawjson.Text(tier)
	}
	switch traffic := get(usage, "trafficType"); string(traffic) {
	case `"ON_DEMAND"`, `"TRAFFIC_TYPE_UNSPECIFIED"`:
		return ""
	case `"ON_DEMAND_PRIORITY"`:
		return "priority"
	case `"ON_DEMAND_FLEX"`:
		return "flex"
	case `"PROVISIONED_THROUGHPUT"`:
		return "provisioned"
	default:
		return strings.ToLower(rawjson.Text(traffic))
	}
}
