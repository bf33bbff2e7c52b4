package llm

import "slices"

// Quirks says, as data, how a provider departs from the wire format that it
// otherwise speaks. The zero value departs in nothing.
type Quirks struct {
	// MaxOutputField is the name of the output cap where it is not the wire
	// format's own, such as "max_tokens".
	MaxOutputField string `json:"max_output_field,omitempty"`
	// NoStreamOptions says that asking for usage in a stream is an error there
	// (such a provider sends it unasked).
	NoStreamOptions bool `json:"no_stream_options,omitempty"`
	// Rename gives request fields another name: "seed": "random_seed".
	Rename map[string]string `json:"rename,omitempty"`
	// RequiredToolChoice is the word for "some tool must be called" where it
	// is not the wire format's own.
	RequiredToolChoice string `json:"required_tool_choice,omitempty"`
	// ReasoningBesideOutput says that completion_tokens leaves reasoning
	// tokens out, so that they are added, not taken from it.
	ReasoningBesideOutput bool `json:"reasoning_beside_output,omitempty"`
	// NoCap says that a cap on output of -1 or 0 is none there.
	NoCap bool `json:"no_cap,omitempty"`
	// ReasoningBesideCap says that the cap on output may leave reasoning out.
	ReasoningBesideCap bool `json:"reasoning_beside_cap,omitempty"`
	// ParsesDocuments says that a document for a model that takes none is read into text
	// first, for a fee that nobody tells.
	ParsesDocuments bool `json:"parses_documents,omitempty"`
	// SoundApart says that sound in a chat is charged for by its length, for which the
	// price of a model may have no rate.
	SoundApart bool `json:"sound_apart,omitempty"`
	// BillsFetches says that each page that the provider's own search of the web opens is
	// charged for beside the searches. It counts as one of OtherTools.
	BillsFetches bool `json:"bills_fetches,omitempty"`
	// IgnoresCallCaps says that a cap on the calls of the provider's own tools is not
	// obeyed.
	IgnoresCallCaps bool `json:"ignores_call_caps,omitempty"`
	// CallCap is the field of a request, or of each tool, that caps how often the provider runs its own tools for a
	// request, which is put in under a budget where the client gave none; empty where there is no such.
	CallCap string `json:"call_cap,omitempty"`
	// SearchWindow is how many tokens, beside those of the request itself, a model reads at
	// most where the provider searches the web for it; 0 for its context window.
	SearchWindow int64 `json:"search_window,omitempty"`
	// SearchTool is the type of the provider's own tool that searches the web in Chat Completions, where it has one: for
	// models whose names have one of SearchModels, or for all.
	SearchTool   string   `json:"search_tool,omitempty"`
	SearchModels []string `json:"search_models,omitempty"`
	// SearchBlocks is the filter of a search at Responses that has the domains to leave out; empty where there is none.
	SearchBlocks string `json:"search_blocks,omitempty"`
	// SearchSources says that the provider's Responses tell on request, at no cost, what its searches found.
	SearchSources bool `json:"search_sources,omitempty"`
	// NoCallIDs says that the ids of tool calls and their results are an error
	// there; they are matched by name and order (Gemini on older Vertex AI).
	NoCallIDs bool `json:"no_call_ids,omitempty"`
	// Drop names request fields that the provider refuses and that can be left
	// out without changing the answer's meaning.
	Drop []string `json:"drop,omitempty"`
	// Takes names what the provider takes beyond its wire format, which is then carried from other formats too:
	// "cache_control" of content, "tools.cache_control", "top_k", "search_domain_filter", and "file_url", a document's address
	// in place of its data.
	Takes []string `json:"takes,omitempty"`
	// Prefill is "yes" where a conversation that ends with an assistant's
	// message is continued behind that message, "no" where it is not, and empty
	// where it is as the wire format's vendor does.
	Prefill string `json:"prefill,omitempty"`
	// Documents is how it takes documents in a chat where that is not as the wire format's vendor does: DocumentsByURL.
	Documents string `json:"documents,omitempty"`
	// PlainSounds says that a sound in a chat is a string, its data in base64 or its address, and no object.
	PlainSounds bool `json:"plain_sounds,omitempty"`
	// NoTier says that its answers do not tell the service tier: the one that was asked
	// for is the one that served.
	NoTier bool `json:"no_tier,omitempty"`
	// CapsPrice says that the provider has others serve its models, each at a price of its own, and takes the highest that
	// it may charge for, in provider.max_price.
	CapsPrice bool `json:"caps_price,omitempty"`
	// LeastAudioSeconds is how much of a recording is charged for at least.
	LeastAudioSeconds int64 `json:"least_audio_seconds,omitempty"`
}

// DocumentsByURL is by an address or a data URL, in a part of that name.
const DocumentsByURL = "document_url"

// Everywhere are those departures that hold in every wire format that the provider speaks.
func (q *Quirks) Everywhere() Quirks {
	return Quirks{
		BillsFetches: q.BillsFetches, IgnoresCallCaps: q.IgnoresCallCaps, CallCap: q.CallCap,
		SearchWindow: q.SearchWindow, CapsPrice: q.CapsPrice, NoCap: q.NoCap,
		SearchBlocks: q.SearchBlocks, SearchSources: q.SearchSources,
	}
}

// Bill has a usage be what it is charged as: a short recording as the shortest.
func (q *Quirks) Bill(u *Usage) {
	if u[Milliseconds] > 0 {
		u[Milliseconds] = max(u[Milliseconds], q.LeastAudioSeconds*thousand)
	}
}

// Served are the modes in which an answer was served, of those that it tells and the
// service tier that was asked for.
func (q *Quirks) Served(told, asked string) string {
	if q.NoTier && told == "" {
		return asked
	}
	return told
}

// NameOf is what the provider calls a top-level field of a request; empty for one
// that it refuses.
func (q *Quirks) NameOf(field string) string {
	if slices.Contains(q.Drop, field) {
		return ""
	}
	if other, ok := q.Rename[field]; ok {
		return other
	}
	return field
}
