// Package responses implements both halves of OpenAI's Responses API
// (https://platform.openai.com/docs/api-reference/responses), also for the vendors that adopted it. Errors have the
// form of Chat Completions, in package openai.
//
// A conversation of this format is a list of items. Consecutive items of the assistant (messages, thinking and calls)
// form one message of the tree.
//
// Trees share memory with the bytes that they were decoded from if they hold raw JSON, so they must not outlive those
// bytes.
package responses

import (
	_ "embed"
	"net/url"
	"slices"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

//go:embed openapi.yaml
var document string

// Name names the format in the configuration.
const Name = "responses"

// IDPrefix begins the ids of answers.
const IDPrefix = "resp_"

const (
	// maxDepth bounds the nesting of arrays and objects in a body.
	maxDepth = parse.MaxDepth

	outputCap = "max_output_tokens"
)

// Types of items that the tree models.
const (
	itemMessage   = "message"
	itemReasoning = "reasoning"
	itemCall      = "function_call"
	itemResult    = "function_call_output"
	itemImage     = "image_generation_call"
)

// Names of internal extra fields of a part, which no request contains: they record the structure of the items that the
// tree does not model.
const (
	// markItem is on the first part of an assistant's message and holds the message's other fields as an object.
	markItem = "weir:item"
	// markContent is on a raw part that is content of a message, not an item.
	markContent = "weir:content"
)

// codexHeaders are headers that Codex sends to its vendor: that tools are in the input, betas, and the state of a turn,
// which a header of the answer starts (codex-rs/core/src/client.rs of 0.171).
var codexHeaders = []string{
	"X-Openai-Internal-Codex-Responses-Lite", "X-Codex-Beta-Features", "X-Codex-Turn-State", "X-Codex-Turn-Metadata",
	"X-Codex-Window-Id", "X-Codex-Parent-Thread-Id", "X-Openai-Subagent", "X-Responsesapi-Include-Timing-Metrics",
}

// replyPath returns the path of a stored answer, GET /responses/{id}:
// https://developers.openai.com/api/reference/resources/responses/methods/retrieve (looked up 2026-11-22),
// https://learn.microsoft.com/azure/ai-services/openai/quickstart (undated copy) and
// https://docs.x.ai/developers/model-capabilities/text/generate-text (undated copy), which store answers for 30 days.
func replyPath(id string) string { return "/responses/" + url.PathEscape(id) }

// framing returns the framing of streams, with that over a WebSocket (npm openai 7.59.0 and
// https://developers.openai.com/docs/guides/websocket-mode, looked up 2026-11-30). OpenAI closes a WebSocket after 60
// minutes. Messages beside an answer are about the key's limits and the server's times
// (https://github.com/openai/codex, codex-rs/codex-api/src/endpoint/responses_websocket.rs and
// codex-rs/otel/src, looked up 2026-11-30).
func framing() dialect.Framing {
	f := dialect.ServerSent()
	f.Socket = &dialect.Socket{
		Create: "response.create", Without: []string{"stream"}, HTTPOnly: []string{"background"},
		PerRequest: turnHeaders,
		First:      "response.created", Last: []string{"response.completed", "response.incomplete", "response.failed"},
		ID: []string{"response", "id"}, Error: "error", TooOld: []string{"websocket_connection_limit_reached"},
		Ignored: []string{"codex.", "responsesapi."},
	}
	return f
}

// turnHeaders are the headers of Codex that change with each turn. Its own WebSockets have them in the handshake, for
// the first one.
var turnHeaders = []string{
	"X-Codex-Turn-State", "X-Codex-Turn-Metadata", "X-Codex-Window-Id", "X-Codex-Parent-Thread-Id", "X-Openai-Subagent",
}

// Dialect returns the wire format. It shares all operations except chat with Chat Completions, first.
func Dialect(first *dialect.Dialect) *dialect.Dialect {
	d := *first
	d.Name, d.IDPrefix, d.Usual, d.SearchTool = Name, IDPrefix, false, SearchTool
	d.Conversation, d.Beside = "input", "instructions"
	d.Names = map[string]string{"max_tokens": outputCap, "response_format": "text.format"}
	d.Passed, d.Returned = append(slices.Clip(first.Passed), codexHeaders...),
		append(slices.Clip(first.Returned), "X-Codex-")
	d.Inputs = dialect.Inputs{
		Shown: rawjson.Names{
			"store", "metadata", "include", "truncation", "servicetier", "safetyidentifier", "promptcachekey",
			"promptcacheoptions",
			"promptcacheretention", "toplogprobs", "streamoptions", "background", "toolchoice", "clientmetadata",
			"verbosity", "contextmanagement",
			"text.format", "text.verbosity",
			"reasoning.effort", "reasoning.summary", "reasoning.generatesummary", "reasoning.context",
			"reasoning.enabled", "reasoning.exclude",
		},
		ShownParts: rawjson.Names{
			"custom_tool_call", "custom_tool_call_output", "local_shell_call", "local_shell_call_output", "shell_call",
			"shell_call_output", "apply_patch_call", "apply_patch_call_output",
		},
		Functions: rawjson.Names{"function"},
		// A namespace is a list of functions and custom tools
		// (https://developers.openai.com/api/docs/guides/tools-tool-search.md, undated copy).
		ClientTools: []string{"custom", "local_shell", "shell:local", "apply_patch", "computer", "namespace"},
		Tools:       serverTools(),
		Told:        rawjson.Names{"prompt"},                   // a stored one, which may have tools
		MaxCalls:    rawjson.Names{"maxtoolcalls", "maxturns"}, // the turns that some servers count
	}
	d.Documents = []string{document}
	d.UsageAt = [][]string{{"usage"}, {"response", "usage"}} // of whole replies and of events
	d.Inquiry = &dialect.Inquiry{Name: Name, Path: replyPath, Decode: DecodeReply}
	d.Counters = []*dialect.Counter{counter()}
	d.Operations = append(slices.Clip(first.Operations), counting(), compacting())
	d.Operation = dialect.Operation{
		Op:            llm.OpChat,
		Routes:        []string{"POST /v1/responses"},
		KeepAlive:     dialect.KeepAlive,
		Framing:       framing(),
		Scan:          Scan,
		DecodeRequest: DecodeRequest,
		EncodeReply:   EncodeReply,
		NewEncoder:    func(m llm.Meta) dialect.Encoder { return NewEncoder(m) },
		Echo:          Echo,
		Kept:          Kept,
		Path:          dialect.At("/responses"),
		EncodeRequest: EncodeRequest,
		Splice:        Splice,
		DecodeReply:   DecodeReply,
		NewDecoder:    func(q *llm.Quirks) dialect.Decoder { return NewDecoder(q) },
		Idle:          Idle,
		Stamp:         Stamp,
		HasUsage:      HasUsage,
	}
	return &d
}
