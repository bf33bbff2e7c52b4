// Package anthropic implements both halves of Anthropic's Messages API:
// https://platform.claude.com/docs/en/api/messages.
//
// Trees share memory with the bytes that they were decoded from if they hold raw JSON, so they must not outlive those
// bytes.
package anthropic

import (
	_ "embed"
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
	// Name names the format in the configuration.
	Name = "anthropic"
	// VersionHeader and Version name the version of the API; the vendor refuses requests without it.
	VersionHeader = "Anthropic-Version"
	Version       = "2023-06-01"
	// KeepAlive is the vendor's event during pauses.
	KeepAlive = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	// EndMarker ends a complete stream.
	EndMarker = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

const (
	// maxDepth bounds the nesting of arrays and objects in a body.
	maxDepth = parse.MaxDepth
	// defaultOutput is the output cap of a request that has none, because the vendor requires one. Every model since
	// Claude 3.5 supports it; higher limits of models are not known here.
	defaultOutput = 8192
)

// Dialect returns the wire format.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name: Name,
		Habits: dialect.Habits{
			Conversation: "messages", Beside: "system", CacheMarks: true,
			Names:     map[string]string{"stop": "stop_sequences", "response_format": "output_config.format"},
			Fallbacks: true, // https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback
			// https://platform.claude.com/docs/en/api/rate-limits#response-headers
			Returned: []string{"Anthropic-Ratelimit-", "Anthropic-Priority-"},
		},
		UsageAt: [][]string{{"usage"}, {"message", "usage"}}, // of a whole reply and of message_start
		Vendor:  Name, Auth: "x-api-key",
		KeyHeaders:  []string{"X-Api-Key"},
		ClientAPI:   true,
		IDPrefix:    "msg_",
		InputFirst:  true,
		Status:      vocabulary.Status,
		EncodeError: EncodeError,
		Headers:     []dialect.Header{{Name: VersionHeader, Value: Version}},
		ListPath:    "/models?limit=1000", // https://docs.anthropic.com/en/api/models-list, 2026-11-26
		// The SDKs read the request's id from this header: https://platform.claude.com/docs/en/api/errors#request-id.
		ReplyHeaders: func(f dialect.Fields, id string) { f.Set("Request-Id", id) },
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

// inputs lists the fields of requests that the tree does not model.
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
			// These cost only tokens: https://platform.claude.com/docs/en/about-claude/pricing.
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

// longWindow is the context window, in tokens, that a header requests:
// https://platform.claude.com/docs/en/build-with-claude/context-windows.
const longWindow = 1_000_000

// limits returns the vendor's rate-limit headers
// (https://platform.claude.com/docs/en/api/rate-limits#response-headers). The gateway counts input and output tokens
// together, so both headers report the same.
func limits(of ...string) (all []dialect.LimitHeaders) {
	for _, what := range of {
		name := "Anthropic-Ratelimit-" + what
		all = append(all, dialect.LimitHeaders{
			Limit: name + "-Limit", Remaining: name + "-Remaining", Reset: name + "-Reset", Tokens: what != "Requests",
		})
	}
	return all
}
