// Package anthropic is Anthropic's Messages API, both halves: the format at
// https://platform.claude.com/docs/en/api/messages.
//
// Trees share memory with the bytes that they were decoded from where they hold
// raw JSON, so they live no longer than those bytes.
package anthropic

import (
	_ "embed"

	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

//go:embed openapi.yaml
var document string

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

// Dialect is the wire format.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name:         Name,
		Vendor:       Name,
		Auth:         "x-api-key",
		KeyHeaders:   []string{"X-Api-Key"},
		ClientAPI:    true,
		IDPrefix:     IDPrefix,
		Status:       Status,
		EncodeError:  EncodeError,
		Headers:      []dialect.Header{{Name: VersionHeader, Value: Version}},
		ReplyHeaders: ReplyHeaders,
		ReplyLimits:  ReplyLimits,
		Passed:       []string{VersionHeader, "Anthropic-Beta"},
		Prefill:      true, // up to Claude 4.5
		DecodeError:  DecodeError,
		Models: &dialect.ModelList{
			Path: "/v1/models", Header: VersionHeader, List: listModels, One: oneModel,
		},
		Inputs:     inputs(),
		Documents:  []string{document},
		Operations: operations(),
		Operation: dialect.Operation{
			Op:            llm.OpChat,
			Routes:        []string{"POST /v1/messages"},
			KeepAlive:     KeepAlive,
			Framing:       dialect.ServerSent(),
			EndMarker:     EndMarker,
			Scan:          Scan,
			DecodeRequest: DecodeRequest,
			EncodeReply:   EncodeReply,
			NewEncoder:    func(m llm.Meta) dialect.Encoder { return NewEncoder(m) },
			Path:          Path,
			EncodeRequest: EncodeRequest,
			Splice:        Splice,
			DecodeReply:   DecodeReply,
			NewDecoder:    func(q *llm.Quirks) dialect.Decoder { return NewDecoder(q) },
			Stamp:         Stamp,
		},
	}
}

// operations are what it can do beside chat.
func operations() []*dialect.Operation {
	return []*dialect.Operation{{
		Op:            llm.OpCountTokens,
		Silent:        true,
		Free:          true,
		Routes:        []string{"POST /v1/messages/count_tokens"},
		Scan:          ScanCount,
		DecodeRequest: DecodeRequest,
		EncodeReply:   EncodeCount,
		Path:          CountPath,
		Splice:        compose.SpliceModel,
		DecodeReply:   DecodeCount,
		Stamp:         dialect.Unstamped,
	}}
}

// inputs are what its requests may have that the tree does not model.
func inputs() dialect.Inputs {
	return dialect.Inputs{
		Plain: rawjson.Names{
			"model", "messages", "max_tokens", "system", "stream", "temperature", "top_p",
		},
		Shown: rawjson.Names{
			"metadata", "servicetier", "inferencegeo", "speed", "outputconfig", "outputformat", "cachecontrol",
			"toolchoice", "contextmanagement",
		},
		ClientTools: []string{"bash_", "text_editor_", "computer_", "memory_"},
		MaxUses:     "max_uses",
	}
}
