package llm

import "slices"

// Quirks describes, as data, how a provider differs from its wire format. The zero value has no differences.
type Quirks struct {
	// MaxOutputField is the name of the output cap if it differs from the wire format's, such as "max_tokens".
	MaxOutputField string `json:"max_output_field,omitempty"`
	// NoStreamOptions says that the provider refuses a request for usage in a stream; it sends the usage unasked.
	NoStreamOptions bool `json:"no_stream_options,omitempty"`
	// Rename maps request fields to the provider's names: "seed": "random_seed".
	Rename map[string]string `json:"rename,omitempty"`
	// RequiredToolChoice is the value for "some tool must be called" if it differs from the wire format's.
	RequiredToolChoice string `json:"required_tool_choice,omitempty"`
	// ReasoningBesideOutput says that completion_tokens excludes reasoning tokens, so that they are added and not
	// subtracted.
	ReasoningBesideOutput bool `json:"reasoning_beside_output,omitempty"`
	// NoCap says that an output cap of -1 or 0 means no cap.
	NoCap bool `json:"no_cap,omitempty"`
	// ReasoningBesideCap says that the output cap may exclude reasoning.
	ReasoningBesideCap bool `json:"reasoning_beside_cap,omitempty"`
	// ParsesDocuments says that the provider converts a document to text for a model that does not accept documents,
	// for a fee that it does not report.
	ParsesDocuments bool `json:"parses_documents,omitempty"`
	// SoundApart says that the provider charges for sound in a chat by its length, for which the price of a model may
	// have no rate.
	SoundApart bool `json:"sound_apart,omitempty"`
	// BillsFetches says that the provider's own web search charges for each page that it opens, in addition to the
	// searches. A page counts as one of OtherTools.
	BillsFetches bool `json:"bills_fetches,omitempty"`
	// IgnoresCallCaps says that the provider does not obey a cap on calls of its own tools.
	IgnoresCallCaps bool `json:"ignores_call_caps,omitempty"`
	// CallCap is the field of a request, or of each tool, that caps how often the provider runs its own tools for a
	// request; empty for none. The gateway sets it under a budget if the client did not.
	CallCap string `json:"call_cap,omitempty"`
	// SearchWindow is the most tokens that a model reads in addition to the request's own if the provider searches
	// the web for it; 0 for its context window.
	SearchWindow int64 `json:"search_window,omitempty"`
	// SearchTool is the type of the provider's own web search tool in Chat Completions, if it has one: for models
	// with one of SearchModels in their names, or for all if there are none.
	SearchTool   string   `json:"search_tool,omitempty"`
	SearchModels []string `json:"search_models,omitempty"`
	// SearchBlocks is the filter of a search at Responses that lists excluded domains; empty for none.
	SearchBlocks string `json:"search_blocks,omitempty"`
	// SearchOneList says that such a search accepts allowed or excluded domains, and not both.
	SearchOneList bool `json:"search_one_list,omitempty"`
	// SearchSources says that the provider's Responses include the sources of searches on request, at no cost.
	SearchSources bool `json:"search_sources,omitempty"`
	// NoCallIDs says that the provider refuses ids of tool calls and results and matches them by name and order
	// (Gemini on older Vertex AI).
	NoCallIDs bool `json:"no_call_ids,omitempty"`
	// Drop names request fields that the provider refuses and that can be omitted without changing the answer's
	// meaning.
	Drop []string `json:"drop,omitempty"`
	// Takes names the fields that the provider accepts beyond its wire format, which are then carried over from other
	// formats too: "cache_control" of content, "tools.cache_control", "top_k", "search_domain_filter", and
	// "file_url", a document's address in place of its data.
	Takes []string `json:"takes,omitempty"`
	// CacheBreakpoints says that models from GPT-5.6 on accept prompt_cache_breakpoint on content.
	CacheBreakpoints bool `json:"cache_breakpoints,omitempty"`
	// CacheKey says that the provider routes requests by prompt_cache_key to the machine with their prompt cache.
	CacheKey bool `json:"cache_key,omitempty"`
	// AddCacheMarks gives chats without marks of a prompt cache the marks, or the key, that the provider needs.
	AddCacheMarks bool `json:"add_cache_marks,omitempty"`
	// Prefill is "yes" if the provider continues a last message of the assistant, "no" if it does not, and empty if
	// it does as the wire format's vendor does.
	Prefill string `json:"prefill,omitempty"`
	// Documents is the form in which a chat has documents if it differs from the wire format vendor's:
	// DocumentsByURL.
	Documents string `json:"documents,omitempty"`
	// PlainSounds says that a sound in a chat is a string, with its data in base64 or its address, and not an object.
	PlainSounds bool `json:"plain_sounds,omitempty"`
	// NoTier says that answers do not report the service tier: the requested one is the one that served.
	NoTier bool `json:"no_tier,omitempty"`
	// CapsPrice says that other companies serve the provider's models, each at its own price, and that
	// provider.max_price caps the price.
	CapsPrice bool `json:"caps_price,omitempty"`
	// LeastAudioSeconds is the minimum charge for a recording, in seconds.
	LeastAudioSeconds int64 `json:"least_audio_seconds,omitempty"`
}

// DocumentsByURL is a document by an address or a data URL, in a part of that name.
const DocumentsByURL = "document_url"

// Everywhere returns the quirks that apply to every wire format of the provider.
func (q *Quirks) Everywhere() Quirks {
	return Quirks{
		BillsFetches: q.BillsFetches, IgnoresCallCaps: q.IgnoresCallCaps, CallCap: q.CallCap,
		SearchWindow: q.SearchWindow, CapsPrice: q.CapsPrice, NoCap: q.NoCap,
		SearchBlocks: q.SearchBlocks, SearchOneList: q.SearchOneList, SearchSources: q.SearchSources,
		CacheBreakpoints: q.CacheBreakpoints, CacheKey: q.CacheKey, AddCacheMarks: q.AddCacheMarks,
	}
}

// Bill adjusts a usage to the amount that is charged: it raises a short recording to the minimum.
func (q *Quirks) Bill(u *Usage) {
	if u[Milliseconds] > 0 {
		u[Milliseconds] = max(u[Milliseconds], q.LeastAudioSeconds*thousand)
	}
}

// Served returns the modes in which an answer was served, by the modes that it reports and the requested service
// tier.
func (q *Quirks) Served(told, asked string) string {
	if q.NoTier && told == "" {
		return asked
	}
	return told
}

// NameOf returns the provider's name of a top-level field of a request; empty if the provider refuses it.
func (q *Quirks) NameOf(field string) string {
	if slices.Contains(q.Drop, field) {
		return ""
	}
	if other, ok := q.Rename[field]; ok {
		return other
	}
	return field
}
