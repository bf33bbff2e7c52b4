package dialect

import (
	"io"

	"weir/internal/dialect/cohere"
	"weir/internal/dialect/native"
	"weir/internal/dialect/ollama"
	"weir/internal/dialect/openai"
	"weir/internal/llm"
)

// endMarker ends a stream of OpenAI's, and of those that took it over.
const endMarker = "data: [DONE]\n\n"

// All are the wire formats, each in one place of this list.
func All() []*Dialect {
	return []*Dialect{nativeDialect(), openaiDialect(), cohereDialect(), ollamaDialect()}
}

func nativeDialect() *Dialect {
	return &Dialect{
		Name: native.Name,
		Routes: []Route{
			{Pattern: "POST /v1/chat", Op: llm.OpChat},
			{Pattern: "POST /api/chat", Op: llm.OpChat},
		},
		Door:          true,
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
		KeyHeaders:    []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"},
		Door:          true,
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
