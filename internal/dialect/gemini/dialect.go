// Package gemini implements both halves of Google's generateContent: the format of the Gemini API
// (https://ai.google.dev/api/generate-content) and of Vertex AI, which differ only in URLs and credentials.
//
// It reads the names of members in both spellings that Google accepts, camelCase and the snake_case of its protocol
// buffers, and writes them in camelCase.
//
// Trees share memory with the bytes that they were decoded from if they hold raw JSON, so they must not outlive those
// bytes.
package gemini

import (
	_ "embed"
	"net/url"
	"strings"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

//go:embed openapi.yaml
var document string

// Name names the format in the configuration.
const Name = "gemini"

const (
	// maxDepth bounds the nesting of arrays and objects in a body.
	maxDepth = parse.MaxDepth
	// maxCandidates is the documented limit of candidateCount.
	maxCandidates = 8
	// maxChoices bounds the candidates of an answer.
	maxChoices = 128
	// maxCalls bounds the tool calls of a streamed candidate.
	maxCalls = 1024
)

// The supported methods of a model.
const (
	methodWhole  = "generateContent"
	methodStream = "streamGenerateContent"
)

// Canonical returns a model's name without the prefix of its collection. Tuned models are in another collection.
func Canonical(model string) string {
	for strings.HasPrefix(model, modelsPrefix) {
		model = strings.TrimPrefix(model, modelsPrefix)
	}
	return model
}

const modelsPrefix = "models/"

// Path returns the path after a provider's base URL, which ends with the version
// (https://generativelanguage.googleapis.com/v1beta) or the publisher
// (https://LOCATION-aiplatform.googleapis.com/v1/projects/P/locations/L/publishers/google). Without alt=sse a stream
// would be one JSON array.
func Path(model string, stream bool) string {
	path := modelPath(model) + ":"
	if stream {
		return path + methodStream + "?alt=sse"
	}
	return path + methodWhole
}

// modelPath returns the path of a model. Tuned models are in another collection.
func modelPath(model string) string {
	collection := modelsPrefix
	if strings.HasPrefix(model, collection) || strings.HasPrefix(model, "tunedModels/") {
		collection = ""
	}
	return "/" + collection + escaped(model)
}

// escaped returns a model's name as segments of a path. A client may have chosen it, so it must not change the path
// otherwise.
func escaped(model string) string {
	segments := strings.Split(model, "/")
	for i, s := range segments {
		if s == "." || s == ".." {
			segments[i] = strings.ReplaceAll(s, ".", "%2E")
			continue
		}
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}

// isModern reports whether a model is of the third generation or later, by its name. Such models require thinking
// levels instead of budgets, the ids of tool calls, and a thought signature on the first call of every turn.
func isModern(model string) bool {
	_, rest, ok := strings.Cut(model, "gemini-")
	if !ok {
		return false
	}
	at := strings.IndexAny(rest, "0123456789")
	if at < 0 {
		return strings.HasSuffix(rest, "-latest")
	}
	return at+1 < len(rest) && isDigit(rest[at+1]) || rest[at] >= '3'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Dialect returns the wire format.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name: Name,
		Habits: dialect.Habits{
			Conversation: "contents", Beside: "systemInstruction", Parts: "parts",
			Names: map[string]string{
				"stop": "generationConfig.stopSequences", "n": "generationConfig.candidateCount",
				"max_tokens":      "generationConfig.maxOutputTokens",
				"response_format": "generationConfig.responseMimeType",
				"tool_choice":     "toolConfig.functionCallingConfig",
			},
			NoCallIDs:  true,
			Collection: "/v1beta/models/", // LangChain, the AI SDK and opencode omit it
		},
		UsageAt:    [][]string{{"usageMetadata"}},
		Vendor:     Name,
		Auth:       "x-goog-api-key",
		KeyHeaders: []string{"X-Goog-Api-Key"},
		ListPath:   "/models?pageSize=1000", // https://ai.google.dev/api/models#method:-models.list, 2026-11-26
		// https://ai.google.dev/gemini-api/docs/priority-inference (undated copy)
		TierHeader:  "X-Gemini-Service-Tier",
		ClientAPI:   true,
		Status:      vocabulary.Status,
		EncodeError: EncodeError,
		Canonical:   Canonical,
		SearchTool:  SearchTool,
		DecodeError: DecodeError,
		Models:      &dialect.ModelList{Path: "/v1beta/models", List: listModels, One: oneModel},
		Inputs:      inputs(),
		Counters:    counters(),
		Documents:   []string{document},
		Operations:  operations(),
		Operation: dialect.Operation{
			Op: llm.OpChat,
			Routes: []string{
				"POST /v1beta/models/{target...}",
				"POST /v1/models/{target...}", // the SDK for Node from 3.0 on
				// Vertex AI's; the last is for clients with an API key.
				"POST /v1/projects/{project}/locations/{location}/publishers/{publisher}/models/{target...}",
				"POST /v1beta1/projects/{project}/locations/{location}/publishers/{publisher}/models/{target...}",
				"POST /v1beta1/publishers/{publisher}/models/{target...}",
			},
			ObjectCalls: true,
			KeepAlive:   "data: " + keepAlive + "\n\n", Framing: dialect.ServerSent(), Live: live(),
			Scan:          Scan,
			DecodeRequest: DecodeRequest,
			EncodeReply:   EncodeReply,
			NewEncoder:    func(m llm.Meta) dialect.Encoder { return NewEncoder(m) },
			Path:          Path,
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

// operations returns the operations in addition to chat.
func operations() []*dialect.Operation {
	return []*dialect.Operation{{
		Op: llm.OpCountTokens, Silent: true, Free: true,
		Routes: []string{"POST /v1beta/models/{target...}", "POST /v1/models/{target...}"}, Suffix: CountSuffix,
		Scan: ScanCount, DecodeRequest: DecodeCounted, Path: CountPath,
		EncodeReply: dialect.EncodeCount(`{"` + counted + `":`),
		Splice:      SpliceCount, DecodeReply: parse.Counted(counted), Stamp: dialect.Unstamped,
	}, {
		Op: llm.OpEmbed, Silent: true,
		Routes: []string{"POST /v1beta/models/{target...}", "POST /v1/models/{target...}"}, Suffix: EmbedSuffix,
		Scan: ScanEmbed, DecodeRequest: DecodeEmbed, EncodeReply: EncodeVectors, Path: EmbedPath,
		EncodeRequest: EncodeEmbed, Splice: SpliceEmbed, DecodeReply: DecodeVectors, Stamp: Stamp,
	}, { // single ones, only in the client API
		Op: llm.OpEmbed, Silent: true,
		Routes: []string{"POST /v1beta/models/{target...}", "POST /v1/models/{target...}"},
		Suffix: EmbedOneSuffix, Scan: ScanEmbedOne, DecodeRequest: DecodeEmbedOne, EncodeReply: EncodeVector,
	}}
}

func inputs() dialect.Inputs {
	return dialect.Inputs{
		Closed: []string{"gemini-"},
		Shown: rawjson.Names{
			"safetysettings", "servicetier", "labels", "store", "toolconfig",
			// https://ai.google.dev/api/generate-content#generationconfig, and Vertex AI's audioTimestamp
			"generationconfig.audiotimestamp", "generationconfig.candidatecount",
			"generationconfig.enableenhancedcivicanswers", "generationconfig.frequencypenalty",
			"generationconfig.imageconfig", "generationconfig.logprobs", "generationconfig.maxoutputtokens",
			"generationconfig.mediaresolution", "generationconfig.presencepenalty",
			"generationconfig.responsejsonschema", "generationconfig.responselogprobs",
			"generationconfig.responsemimetype", "generationconfig.responsemodalities",
			"generationconfig.responseschema", "generationconfig.seed", "generationconfig.speechconfig",
			"generationconfig.stopsequences", "generationconfig.temperature", "generationconfig.thinkingconfig",
			"generationconfig.topk", "generationconfig.topp",
		},
		ShownMembers: rawjson.Names{"executablecode", "codeexecutionresult", "thought", "thoughtsignature"},
		Functions:    rawjson.Names{"functiondeclarations", "function_declarations"},
		ClientTools:  []string{"computeruse", "computer_use"},
		Tools:        serverTools(),
	}
}
