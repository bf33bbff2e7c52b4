package dialect

import (
	"io"

	"weir/internal/dialect/anthropic"
	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/cohere"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/native"
	"weir/internal/dialect/ollama"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/responses"
	"weir/internal/llm"
)

// endMarker ends a stream of OpenAI's, and those that took it over.
const endMarker = "data: [DONE]\n\n"

// keepAlive is a comment, which clients of server-sent events pass over.
const keepAlive = ": keep-alive\n\n"

// vendorKeyHeaders are where the vendors' SDKs put a key, whichever it is for.
func vendorKeyHeaders() []string { return []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} }

// All are the wire formats, each in one place of this list. OpenAI's two have
// all but their chat in common.
func All() []*Dialect {
	others := openaiOperations()
	chat, responses := openaiDialect(), responsesDialect()
	chat.Operations, responses.Operations = others, others
	return []*Dialect{
		nativeDialect(), chat, responses, anthropicDialect(), geminiDialect(), bedrockDialect(),
		cohereDialect(), ollamaDialect(),
	}
}

func nativeDialect() *Dialect {
	return &Dialect{
		Name:        native.Name,
		ClientAPI:   true,
		Status:      native.Status,
		EncodeError: native.EncodeError,
		Operation: Operation{
			Op: llm.OpChat,
			Routes: []string{
				"POST /v1/chat",
				"POST /api/chat",
			},
			KeepAlive:     keepAlive,
			Framing:       serverSent(),
			EndMarker:     endMarker,
			Scan:          native.Scan,
			DecodeRequest: native.DecodeRequest,
			EncodeReply:   native.EncodeReply,
			NewEncoder:    func(m llm.Meta) Encoder { return native.NewEncoder(m) },
		},
	}
}

func openaiDialect() *Dialect {
	return &Dialect{
		Name:        openai.Name,
		Vendor:      openai.Name,
		KeyHeaders:  vendorKeyHeaders(),
		ClientAPI:   true,
		IDPrefix:    openai.IDPrefix,
		Status:      openai.Status,
		EncodeError: openai.EncodeError,
		DecodeError: openai.DecodeError,
		Operation: Operation{
			Op:            llm.OpChat,
			Routes:        []string{"POST /v1/chat/completions"},
			KeepAlive:     keepAlive,
			Framing:       serverSent(),
			EndMarker:     endMarker,
			Scan:          openai.Scan,
			DecodeRequest: openai.DecodeRequest,
			EncodeReply:   openai.EncodeReply,
			NewEncoder:    func(m llm.Meta) Encoder { return openai.NewEncoder(m) },
			Path:          openai.Path,
			EncodeRequest: openai.EncodeRequest,
			Splice:        openai.Splice,
			DecodeReply:   openai.DecodeReply,
			NewDecoder:    func(q *llm.Quirks) Decoder { return openai.NewDecoder(q) },
			Stamp:         openai.Stamp,
		},
	}
}

func geminiDialect() *Dialect {
	return &Dialect{
		Name:        gemini.Name,
		Vendor:      gemini.Name,
		KeyHeaders:  vendorKeyHeaders(),
		ClientAPI:   true,
		Status:      gemini.Status,
		EncodeError: gemini.EncodeError,
		Canonical:   gemini.Canonical,
		DecodeError: gemini.DecodeError,
		Operations:  geminiOperations(),
		Operation: Operation{
			Op: llm.OpChat,
			Routes: []string{
				"POST /v1beta/models/{target...}",
				"POST /v1/models/{target...}", // the SDK for Node from 3.0 on
				// Vertex AI's, the last for those who have an API key.
				"POST /v1/projects/{project}/locations/{location}/publishers/{publisher}/models/{target...}",
				"POST /v1beta1/projects/{project}/locations/{location}/publishers/{publisher}/models/{target...}",
				"POST /v1beta1/publishers/{publisher}/models/{target...}",
			},
			KeepAlive:     gemini.KeepAlive,
			Framing:       serverSent(),
			Scan:          gemini.Scan,
			DecodeRequest: gemini.DecodeRequest,
			EncodeReply:   gemini.EncodeReply,
			NewEncoder:    func(m llm.Meta) Encoder { return gemini.NewEncoder(m) },
			Path:          gemini.Path,
			EncodeRequest: gemini.EncodeRequest,
			Splice:        gemini.Splice,
			DecodeReply:   gemini.DecodeReply,
			NewDecoder:    func(q *llm.Quirks) Decoder { return gemini.NewDecoder(q) },
			Stamp:         gemini.Stamp,
		},
	}
}

func anthropicDialect() *Dialect {
	return &Dialect{
		Name:         anthropic.Name,
		Vendor:       anthropic.Name,
		KeyHeaders:   vendorKeyHeaders(),
		ClientAPI:    true,
		IDPrefix:     anthropic.IDPrefix,
		Status:       anthropic.Status,
		EncodeError:  anthropic.EncodeError,
		Headers:      []Header{{Name: anthropic.VersionHeader, Value: anthropic.Version}},
		ReplyHeaders: anthropic.ReplyHeaders,
		ReplyLimits:  anthropic.ReplyLimits,
		Passed:       []string{anthropic.VersionHeader, "Anthropic-Beta"},
		Prefill:      true, // up to Claude 4.5
		DecodeError:  anthropic.DecodeError,
		Operations:   anthropicOperations(),
		Operation: Operation{
			Op:            llm.OpChat,
			Routes:        []string{"POST /v1/messages"},
			KeepAlive:     anthropic.KeepAlive,
			Framing:       serverSent(),
			EndMarker:     anthropic.EndMarker,
			Scan:          anthropic.Scan,
			DecodeRequest: anthropic.DecodeRequest,
			EncodeReply:   anthropic.EncodeReply,
			NewEncoder:    func(m llm.Meta) Encoder { return anthropic.NewEncoder(m) },
			Path:          anthropic.Path,
			EncodeRequest: anthropic.EncodeRequest,
			Splice:        anthropic.Splice,
			DecodeReply:   anthropic.DecodeReply,
			NewDecoder:    func(q *llm.Quirks) Decoder { return anthropic.NewDecoder(q) },
			Stamp:         anthropic.Stamp,
		},
	}
}

func bedrockDialect() *Dialect {
	return &Dialect{
		Name:        bedrock.Name,
		Status:      bedrock.Status,
		EncodeError: bedrock.EncodeError,
		DecodeError: bedrock.DecodeError,
		Operations:  bedrockOperations(),
		Operation: Operation{
			Op:     llm.OpChat,
			Routes: []string{"POST /model/{target...}"},
			Framing: Framing{
				ContentType: bedrock.ContentType,
				NewReader:   func(src io.Reader, max int) Frames { return bedrock.NewReader(src, max) },
				Append:      bedrock.AppendFrame,
			},
			Scan:          bedrock.Scan,
			DecodeRequest: bedrock.DecodeRequest,
			EncodeReply:   bedrock.EncodeReply,
			NewEncoder:    func(m llm.Meta) Encoder { return bedrock.NewEncoder(m) },
			Path:          bedrock.Path,
			EncodeRequest: bedrock.EncodeRequest,
			Splice:        bedrock.Splice,
			DecodeReply:   bedrock.DecodeReply,
			NewDecoder:    func(q *llm.Quirks) Decoder { return bedrock.NewDecoder(q) },
			Stamp:         bedrock.Stamp,
		},
	}
}

// responsesDialect is OpenAI's other wire format, with the errors of the first.
func responsesDialect() *Dialect {
	return &Dialect{
		Name:        responses.Name,
		Vendor:      openai.Name,
		KeyHeaders:  vendorKeyHeaders(),
		ClientAPI:   true,
		IDPrefix:    responses.IDPrefix,
		Status:      openai.Status,
		EncodeError: openai.EncodeError,
		DecodeError: openai.DecodeError,
		Operation: Operation{
			Op:            llm.OpChat,
			Routes:        []string{"POST /v1/responses"},
			KeepAlive:     keepAlive,
			Framing:       serverSent(),
			Scan:          responses.Scan,
			DecodeRequest: responses.DecodeRequest,
			EncodeReply:   responses.EncodeReply,
			NewEncoder:    func(m llm.Meta) Encoder { return responses.NewEncoder(m) },
			Echo:          responses.Echo,
			Kept:          responses.Kept,
			Path:          responses.Path,
			EncodeRequest: responses.EncodeRequest,
			Splice:        responses.Splice,
			DecodeReply:   responses.DecodeReply,
			NewDecoder:    func(q *llm.Quirks) Decoder { return responses.NewDecoder(q) },
			Stamp:         responses.Stamp,
		},
	}
}

func cohereDialect() *Dialect {
	return &Dialect{
		Name:        cohere.Name,
		Vendor:      cohere.Name,
		Status:      cohere.Status,
		EncodeError: cohere.EncodeError,
		DecodeError: cohere.DecodeError,
		Operations:  cohereOperations(),
		Operation: Operation{
			Op:            llm.OpChat,
			Routes:        []string{"POST /v2/chat"},
			Framing:       serverSent(),
			EndMarker:     endMarker,
			Scan:          cohere.Scan,
			DecodeRequest: cohere.DecodeRequest,
			EncodeReply:   cohere.EncodeReply,
			NewEncoder:    func(m llm.Meta) Encoder { return cohere.NewEncoder(m) },
			Path:          cohere.Path,
			EncodeRequest: cohere.EncodeRequest,
			Splice:        cohere.Splice,
			DecodeReply:   cohere.DecodeReply,
			NewDecoder:    func(q *llm.Quirks) Decoder { return cohere.NewDecoder(q) },
			Stamp:         cohere.Stamp,
		},
	}
}

func ollamaDialect() *Dialect {
	return &Dialect{
		Name:        ollama.Name,
		Vendor:      ollama.Name,
		Status:      ollama.Status,
		EncodeError: ollama.EncodeError,
		DecodeError: ollama.DecodeError,
		Operations:  ollamaOperations(),
		Operation: Operation{
			Op:     llm.OpChat,
			Routes: []string{"POST /api/chat"},
			Framing: Framing{
				ContentType: ollama.ContentType,
				NewReader:   func(src io.Reader, max int) Frames { return ollama.NewReader(src, max) },
				Append:      ollama.AppendLine,
			},
			Scan:          ollama.Scan,
			DecodeRequest: ollama.DecodeRequest,
			EncodeReply:   ollama.EncodeReply,
			NewEncoder:    func(m llm.Meta) Encoder { return ollama.NewEncoder(m) },
			Path:          ollama.Path,
			EncodeRequest: ollama.EncodeRequest,
			Splice:        ollama.Splice,
			DecodeReply:   ollama.DecodeReply,
			NewDecoder:    func(q *llm.Quirks) Decoder { return ollama.NewDecoder(q) },
			Stamp:         ollama.Stamp,
		},
	}
}
