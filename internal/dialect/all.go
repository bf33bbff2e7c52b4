package dialect

import (
	"io"

	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/native"
	"weir/internal/dialect/openai"
	"weir/internal/llm"
)

// endMarker ends a stream of OpenAI's, and those that took it over.
const endMarker = "data: [DONE]\n\n"

// All are the wire formats, each in one place of this list.
func All() []*Dialect {
	return []*Dialect{nativeDialect(), openaiDialect(), bedrockDialect()}
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
