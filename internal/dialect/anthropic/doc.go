// Package anthropic is Anthropic's Messages API, both halves: the format at
// https://platform.claude.com/docs/en/api/messages.
//
// Trees share memory with the bytes that they were decoded from where they hold
// raw JSON, so they live no longer than those bytes.
package anthropic

import (
	"weir/internal/dialect/parse"
)

const (
	// Name is the word for the format in the configuration.
	Name = "anthropic"
	// VersionHeader and Version say which version of the API is spoken; the
	// vendor refuses a request that does not.
	VersionHeader = "Anthropic-Version"
	Version       = "2023-06-01"
	// IDPrefix is what the ids of answers begin with.
	IDPrefix = "msg_"
	// KeepAlive is the vendor's event for silences.
	KeepAlive = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	// EndMarker ends a whole stream.
	EndMarker = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

const (
	// maxDepth is how deep the arrays and objects of a body may nest.
	maxDepth = parse.MaxDepth
	// maxCount keeps token counts where sums and products of them are exact.
	maxCount = parse.MaxCount
	// defaultOutput is the output cap of a request that has none, for the vendor
	// demands one. Every model since Claude 3.5 can write that much; what more a
	// model could write is not known here.
	defaultOutput = 8192
)

// Path is what follows a provider's base URL.
func Path(string, bool) string { return "/messages" }
