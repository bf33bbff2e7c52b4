// Package anthropic is Anthropic's Messages API, both halves: the format at
// https://platform.claude.com/docs/en/api/messages.
//
// Trees share memory with the bytes that they were decoded from where they hold
// raw JSON, so they live no longer than those bytes.
package anthropic

import (
	_ "embed"
	"net/http"
	"time"

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
	// KeepAlive is the vendor's event for silences.
	KeepAlive = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	// EndMarker ends a whole stream.
	EndMarker = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

const (
	// maxDepth is how deep the arrays and objects of a body may nest.
	maxDepth = parse.MaxDepth
	// defaultOutput is the output cap of a request that has none, for the vendor
	// demands one. Every model since Claude 3.5 can write that much; what more a
	// model could write is not known here.
	defaultOutput = 8192
)

// Dialect is the wire format.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name: Name,
		Habits: dialect.Habits{
			Conversation: "messages", Beside: "system",
			Names:     map[string]string{"stop": "stop_sequences", "response_format": "output_config.format"},
			Fallbacks: true, // https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback
			// https://platform.claude.com/docs/en/api/rate-limits#response-headers
			Returned: []string{"Anthropic-Ratelimit-", "Anthropic-Priority-"},
		},
		UsageAt: [][]string{{"usage"}, {"message", "usage"}}, // whole, and in message_start
		Vendor:  Name, Auth: "x-api-key",
		KeyHeaders:  []string{"X-Api-Key"},
		ClientAPI:   true,
		IDPrefix:    "msg_",
		InputFirst:  true,
		Status:      vocabulary.Status,
		EncodeError: EncodeError,
		Headers:     []dialect.Header{{Name: VersionHeader, Value: Version}},
		ListPath:    "/models?limit=1000", // https://docs.anthropic.com/en/api/models-list, 2026-11-26
		// The request's id is where the SDKs read it: https://platform.claude.com/docs/en/api/errors#request-id.
		ReplyHeaders: func(h http.Header, id string) { h["Request-Id"] = []string{id} },
		Limits:       limits("Requests", "Tokens", "Input-Tokens", "Output-Tokens"),
		ResetLayout:  time.RFC3339,
		Passed:       []string{VersionHeader, "Anthropic-Beta"},
		Prefill:      true, // up to Claude 4.5
		SearchTool:   SearchTool,
		DecodeError:  DecodeError,
		Models:       &dialect.ModelList{Path: "/v1/models", Header: VersionHeader, List: listModels, One: oneModel},
		Inputs:       inputs(),
		Counters:     []*dialect.Counter{counter()},
		Documents:    []string{document},
		Operations: []*dialect.Operation{{
			Op: llm.OpCountTokens, Silent: true, Free: true, Routes: []string{"POST /v1/messages/count_tokens"},
			Scan: ScanCount, DecodeRequest: DecodeRequest, EncodeReply: dialect.EncodeCount(`{"` + counted + `":`),
			Path: dialect.At(countPath), Splice: compose.SpliceModel, DecodeReply: parse.Counted(counted),
			Stamp: dialect.Unstamped,
		}},
		Operation: dialect.Operation{
			Op:            llm.OpChat,
			Routes:        []string{"POST /v1/messages"},
			ObjectCalls:   true,
			KeepAlive:     KeepAlive,
			Framing:       dialect.ServerSent(),
			EndMarker:     EndMarker,
			Scan:          Scan,
			DecodeRequest: DecodeRequest,
			EncodeReply:   EncodeReply,
			NewEncoder:    func(m llm.Meta) dialect.Encoder { return NewEncoder(m) },
			Path:          dialect.At("/messages"),
			EncodeRequest: EncodeRequest,
			Splice:        Splice,
			DecodeReply:   DecodeReply,
			NewDecoder:    func(q *llm.Quirks) dialect.Decoder { return NewDecoder(q) },
			Idle:          Idle,
			Stamp:         Stamp,
			HasUsage:      HasUsage,
		},
	}
}

// inputs are what its requests may have that the tree does not model.
func inputs() dialect.Inputs {
	return dialect.Inputs{
		Closed: []string{"claude-"},
		Plain:  rawjson.Names{"model", "messages", "max_tokens", "system", "stream", "temperature", "top_p"},
		Shown: rawjson.Names{
			"metadata", "servicetier", "inferencegeo", "speed", "outputconfig", "outputformat", "cachecontrol",
			"toolchoice", "contextmanagement",
		},
		ShownParts:  rawjson.Names{"server_tool_use", "mcp_tool_use", "search_result"},
		Windows:     map[string]int64{"context-1m": longWindow},
		Functions:   rawjson.Names{"", "custom"},
		ClientTools: []string{"bash_", "text_editor_", "computer_", "memory_"},
		Tools: []dialect.Tool{
			{Prefix: "web_search", Class: llm.Searches, Capped: true},
			{Prefix: "deepseek_web_search", Class: llm.Searches, Untold: true},
			{Prefix: "code_execution", Class: llm.CodeSessions},
			{Prefix: "advisor", Class: llm.OtherTools},
			// These cost tokens alone: https://platform.claude.com/docs/en/about-claude/pricing.
			{Prefix: "web_fetch", Class: llm.Input, Capped: true},
			{Prefix: "tool_search", Class: llm.Input},
			{Prefix: "mcp", Class: llm.Output},
		},
		Told: rawjson.Names{"container"},
		// https://platform.claude.com/docs/en/agents-and-tools/tool-use/code-execution-tool
		Upload:  "container_upload",
		MaxUses: "max_uses",
	}
}

// longWindow is the context window, in tokens, that a header asks for:
// https://platform.claude.com/docs/en/build-with-claude/context-windows.
const longWindow = 1_000_000

// limits are the vendor's rate-limit headers
// (https://platform.claude.com/docs/en/api/rate-limits#response-headers). Tokens of input
// and output are counted together, so those of each are the same.
func limits(of ...string) (all []dialect.LimitHeaders) {
	for _, what := range of {
		name := "Anthropic-Ratelimit-" + what
		all = append(all, dialect.LimitHeaders{
			Limit: name + "-Limit", Remaining: name + "-Remaining", Reset: name + "-Reset", Tokens: what != "Requests",
		})
	}
	return all
}
