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

// All are the wire formats, each in one place of this list.
func All() []*Dialect {
	return []*Dialect{nativeDialect(), openaiDialect(), responsesDialect(), anthropicDialect(), geminiDialect(), bedrockDialect(), cohereDialect(), ollamaDialect()}
}

func nativeDialect() *Dialect {
	return &Dialect{
		Name: native.Name,
		Routes: []Route{
			{Pattern: "POST /v1/chat", Op: llm.OpChat},
			{Pattern: "POST /api/chat", Op: llm.OpChat},
		},
		Door:          true,
		KeepAlive:     keepAlive,
		Framing:       serverSent(),
		EndMarker:     endMarker,
		Scan:          native.Scan,
		DecodeRequest: native.DecodeRequest,
		EncodeReply:   native.EncodeReply,
		NewEncoder:    func(m llm.Meta) Encoder { return native.NewEncoder(m) },
		Status:        native.Status,
		EncodeError:   native.EncodeError,
	}
}

func openaiDialect() *Dialect {
	return &Dialect{
		Name:          openai.Name,
		Routes:        []Route{{Pattern: "POST /v1/chat/completions", Op: llm.OpChat}},
		Vendor:        openai.Name,
		KeyHeaders:    vendorKeyHeaders(),
		Door:          true,
		IDPrefix:      openai.IDPrefix,
		KeepAlive:     keepAlive,
		Framing:       serverSent(),
		EndMarker:     endMarker,
		Scan:          openai.Scan,
		DecodeRequest: openai.DecodeRequest,
		EncodeReply:   openai.EncodeReply,
		NewEncoder:    func(m llm.Meta) Encoder { return openai.NewEncoder(m) },
		Status:        openai.Status,
		EncodeError:   openai.EncodeError,
		Path:          openai.Path,
		EncodeRequest: openai.EncodeRequest,
		Splice:        openai.Splice,
		DecodeReply:   openai.DecodeReply,
		NewDecoder:    func(q *llm.Quirks) Decoder { return openai.NewDecoder(q) },
		Stamp:         openai.Stamp,
		DecodeError:   openai.DecodeError,
	}
}

func geminiDialect() *Dialect {
	return &Dialect{
		Name: gemini.Name,
		Routes: []Route{
			{Pattern: "POST /v1beta/models/{target...}", Op: llm.OpChat},
			// Vertex AI's, the last for those who have an API key.
			{Pattern: "POST /v1/projects/{project}/locations/{location}/publishers/{publisher}/models/{target...}", Op: llm.OpChat},
			{Pattern: "POST /v1beta1/projects/{project}/locations/{location}/publishers/{publisher}/models/{target...}", Op: llm.OpChat},
			{Pattern: "POST /v1beta1/publishers/{publisher}/models/{target...}", Op: llm.OpChat},
		},
		Vendor:        gemini.Name,
		KeyHeaders:    vendorKeyHeaders(),
		Door:          true,
		KeepAlive:     gemini.KeepAlive,
		Framing:       serverSent(),
		Scan:          gemini.Scan,
		DecodeRequest: gemini.DecodeRequest,
		EncodeReply:   gemini.EncodeReply,
		NewEncoder:    func(m llm.Meta) Encoder { return gemini.NewEncoder(m) },
		Status:        gemini.Status,
		EncodeError:   gemini.EncodeError,
		Canonical:     gemini.Canonical,
		Path:          gemini.Path,
		EncodeRequest: gemini.EncodeRequest,
		Splice:        gemini.Splice,
		DecodeReply:   gemini.DecodeReply,
		NewDecoder:    func(q *llm.Quirks) Decoder { return gemini.NewDecoder(q) },
		Stamp:         gemini.Stamp,
		DecodeError:   gemini.DecodeError,
	}
}

func anthropicDialect() *Dialect {
	return &Dialect{
		Name:          anthropic.Name,
		Routes:        []Route{{Pattern: "POST /v1/messages", Op: llm.OpChat}},
		Vendor:        anthropic.Name,
		KeyHeaders:    vendorKeyHeaders(),
		Door:          true,
		IDPrefix:      anthropic.IDPrefix,
		KeepAlive:     anthropic.KeepAlive,
		Framing:       serverSent(),
		EndMarker:     anthropic.EndMarker,
		Scan:          anthropic.Scan,
		DecodeRequest: anthropic.DecodeRequest,
		EncodeReply:   anthropic.EncodeReply,
		NewEncoder:    func(m llm.Meta) Encoder { return anthropic.NewEncoder(m) },
		Status:        anthropic.Status,
		EncodeError:   anthropic.EncodeError,
		Path:          anthropic.Path,
		Headers:       []Header{{Name: anthropic.VersionHeader, Value: anthropic.Version}},
		EncodeRequest: anthropic.EncodeRequest,
		Prefill:       true, // up to Claude 4.5
		Splice:        anthropic.Splice,
		DecodeReply:   anthropic.DecodeReply,
		NewDecoder:    func(q *llm.Quirks) Decoder { return anthropic.NewDecoder(q) },
		Stamp:         anthropic.Stamp,
		DecodeError:   anthropic.DecodeError,
	}
}

func bedrockDialect() *Dialect {
	return &Dialect{
		Name:   bedrock.Name,
		Routes: []Route{{Pattern: "POST /model/{target...}", Op: llm.OpChat}},
		Framing: Framing{
			ContentType: bedrock.ContentType,
			NewReader:   func(src io.Reader, max int) Frames { return bedrock.NewReader(src, max) },
			Append:      bedrock.AppendFrame,
		},
		Scan:          bedrock.Scan,
		DecodeRequest: bedrock.DecodeRequest,
		EncodeReply:   bedrock.EncodeReply,
		NewEncoder:    func(m llm.Meta) Encoder { return bedrock.NewEncoder(m) },
		Status:        bedrock.Status,
		EncodeError:   bedrock.EncodeError,
		Path:          bedrock.Path,
		EncodeRequest: bedrock.EncodeRequest,
		Splice:        bedrock.Splice,
		DecodeReply:   bedrock.DecodeReply,
		NewDecoder:    func(q *llm.Quirks) Decoder { return bedrock.NewDecoder(q) },
		Stamp:         bedrock.Stamp,
		DecodeError:   bedrock.DecodeError,
	}
}

// responsesDialect is OpenAI's other wire format, with the errors of the first.
func responsesDialect() *Dialect {
	return &Dialect{
		Name:          responses.Name,
		Routes:        []Route{{Pattern: "POST /v1/responses", Op: llm.OpChat}},
		Vendor:        openai.Name,
		KeyHeaders:    vendorKeyHeaders(),
		Door:          true,
		IDPrefix:      responses.IDPrefix,
		KeepAlive:     keepAlive,
		Framing:       serverSent(),
		Scan:          responses.Scan,
		DecodeRequest: responses.DecodeRequest,
		EncodeReply:   responses.EncodeReply,
		NewEncoder:    func(m llm.Meta) Encoder { return responses.NewEncoder(m) },
		Kept:          responses.Kept,
		Status:        openai.Status,
		EncodeError:   openai.EncodeError,
		Path:          responses.Path,
		EncodeRequest: responses.EncodeRequest,
		Splice:        responses.Splice,
		DecodeReply:   responses.DecodeReply,
		NewDecoder:    func(q *llm.Quirks) Decoder { return responses.NewDecoder(q) },
		Stamp:         responses.Stamp,
		DecodeError:   openai.DecodeError,
	}
}

func cohereDialect() *Dialect {
	return &Dialect{
		Name:          cohere.Name,
		Routes:        []Route{{Pattern: "POST /v2/chat", Op: llm.OpChat}},
		Vendor:        cohere.Name,
		Framing:       serverSent(),
		EndMarker:     endMarker,
		Scan:          cohere.Scan,
		DecodeRequest: cohere.DecodeRequest,
		EncodeReply:   cohere.EncodeReply,
		NewEncoder:    func(m llm.Meta) Encoder { return cohere.NewEncoder(m) },
		Status:        cohere.Status,
		EncodeError:   cohere.EncodeError,
		Path:          cohere.Path,
		EncodeRequest: cohere.EncodeRequest,
		Splice:        cohere.Splice,
		DecodeReply:   cohere.DecodeReply,
		NewDecoder:    func(q *llm.Quirks) Decoder { return cohere.NewDecoder(q) },
		Stamp:         cohere.Stamp,
		DecodeError:   cohere.DecodeError,
	}
}

func ollamaDialect() *Dialect {
	return &Dialect{
		Name:   ollama.Name,
		Routes: []Route{{Pattern: "POST /api/chat", Op: llm.OpChat}},
		Vendor: ollama.Name,
		Framing: Framing{
			ContentType: ollama.ContentType,
			NewReader:   func(src io.Reader, max int) Frames { return ollama.NewReader(src, max) },
			Append:      ollama.AppendLine,
		},
		Scan:          ollama.Scan,
		DecodeRequest: ollama.DecodeRequest,
		EncodeReply:   ollama.EncodeReply,
		NewEncoder:    func(m llm.Meta) Encoder { return ollama.NewEncoder(m) },
		Status:        ollama.Status,
		EncodeError:   ollama.EncodeError,
		Path:          ollama.Path,
		EncodeRequest: ollama.EncodeRequest,
		Splice:        ollama.Splice,
		DecodeReply:   ollama.DecodeReply,
		NewDecoder:    func(q *llm.Quirks) Decoder { return ollama.NewDecoder(q) },
		Stamp:         ollama.Stamp,
		DecodeError:   ollama.DecodeError,
	}
}
