// Package responses is OpenAI's Responses API, both halves: the format at
// https://platform.openai.com/docs/api-reference/responses and that of those
// who took it over. Errors are those of Chat Completions, in package openai.
//
// A conversation is a list of items here. The assistant's items that follow one
// another, its messages, its thinking and its calls, are one message of the tree.
//
// Trees share memory with the bytes that they were decoded from where they hold
// raw JSON, so they live no longer than those bytes.
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

// Name is the word for the format in the configuration.
const Name = "responses"

// IDPrefix is what the ids of answers begin with.
const IDPrefix = "resp_"

const (
	// maxDepth is how deep the arrays and objects of a body may nest.
	maxDepth = parse.MaxDepth

	outputCap = "max_output_tokens"
)

// The items that are modelled.
const (
	itemMessage   = "message"
	itemReasoning = "reasoning"
	itemCall      = "function_call"
	itemResult    = "function_call_output"
	itemImage     = "image_generation_call"
)

// Names of extra fields of a part that stand in no request: they say what of
// the list of items the tree would not tell.
const (
	// markItem is on the first part of an assistant's message: the message's
	// own fields as an object.
	markItem = "weir:item"
	// markContent is on a raw part that is content of a message and no item.
	markContent = "weir:content"
)

// codexHeaders are what Codex tells its vendor beside the body: that tools stand in the input, betas, and the state of a turn,
// which a header of the answer begins (codex-rs/core/src/client.rs of 0.171).
var codexHeaders = []string{
	"X-Openai-Internal-Codex-Responses-Lite", "X-Codex-Beta-Features", "X-Codex-Turn-State", "X-Codex-Turn-Metadata",
	"X-Codex-Window-Id", "X-Codex-Parent-Thread-Id", "X-Openai-Subagent", "X-Responsesapi-Include-Timing-Metrics",
}

// replyPath is of GET /responses/{id}, of answers that are stored:
// https://developers.openai.com/api/reference/resources/responses/methods/retrieve
// (looked up 2026-11-22), https://learn.microsoft.com/azure/ai-services/openai/quickstart
// (undated copy) and https://docs.x.ai/developers/model-capabilities/text/generate-text
// (undated copy), which keep them for 30 days.
func replyPath(id string) string { return "/responses/" + url.PathEscape(id) }

// Dialect is the wire format: OpenAI's other one, with all but the chat of the first.
func Dialect(first *dialect.Dialect) *dialect.Dialect {
	d := *first
	d.Name, d.IDPrefix, d.Usual, d.SearchTool = Name, IDPrefix, false, SearchTool
	d.Conversation, d.Beside = "input", "instructions"
	d.Names = map[string]string{"max_tokens": outputCap, "response_format": "text.format"}
	d.Passed, d.Returned = append(slices.Clip(first.Passed), codexHeaders...), append(slices.Clip(first.Returned), "X-Codex-")
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
	d.UsageAt = [][]string{{"usage"}, {"response", "usage"}} // whole, and in events
	d.Inquiry = &dialect.Inquiry{Name: Name, Path: replyPath, Decode: DecodeReply}
	d.Counters = []*dialect.Counter{counter()}
	d.Operations = append(slices.Clip(first.Operations), counting(), compacting())
	d.Operation = dialect.Operation{
		Op:            llm.OpChat,
		Routes:        []string{"POST /v1/responses"},
		KeepAlive:     dialect.KeepAlive,
		Framing:       dialect.ServerSent(),
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
