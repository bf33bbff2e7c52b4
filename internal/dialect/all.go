package dialect

import (
	"weir/internal/dialect/native"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/responses"
	"weir/internal/llm"
)

// endMarker ends a stream of OpenAI's, and those that took it over.
const endMarker = "data: [DONE]\n\n"

// All are the wire formats, each in one place of this list.
func All() []*Dialect {
	return []*Dialect{nativeDialect(), openaiDialect(), responsesDialect()}
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

// responsesDialect is OpenAI's other wire format, with the errors of the first.
func responsesDialect() *Dialect {
	return &Dialect{
		Name:          responses.Name,
		Routes:        []Route{{Pattern: "POST /v1/responses", Op: llm.OpChat}},
		Vendor:        openai.Name,
		KeyHeaders:    []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"},
		Framing:       serverSent(),
		Scan:          responses.Scan,
		DecodeRequest: responses.DecodeRequest,
		EncodeReply:   responses.EncodeReply,
		NewEncoder:    func(m llm.Meta) Encoder { return responses.NewEncoder(m) },
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
