package dialect

import (
	"weir/internal/dialect/anthropic"
	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/cohere"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/ollama"
	"weir/internal/dialect/openai"
	"weir/internal/llm"
)

// What the wire formats can do beside chat.

func openaiOperations() []*Operation {
	return []*Operation{{
		Op:            llm.OpEmbed,
		Silent:        true,
		Routes:        []string{"POST /v1/embeddings"},
		Scan:          openai.ScanEmbed,
		DecodeRequest: openai.DecodeEmbed,
		EncodeReply:   openai.EncodeVectors,
		Path:          openai.EmbedPath,
		EncodeRequest: openai.EncodeEmbed,
		Splice:        compose.SpliceModel,
		DecodeReply:   openai.DecodeVectors,
		Stamp:         openai.Stamp,
	}, {
		Op:          llm.OpImage,
		Routes:      []string{"POST /v1/images/generations"},
		Framing:     serverSent(),
		KeepAlive:   keepAlive,
		Scan:        openai.ScanImage,
		NewEncoder:  func(m llm.Meta) Encoder { return openai.NewMediaEncoder(m) },
		Path:        at("/images/generations"),
		Splice:      compose.SpliceModel,
		DecodeReply: openai.DecodeImages,
		NewDecoder:  func(q *llm.Quirks) Decoder { return openai.NewMediaDecoder(q) },
		Stamp:       openai.Stamp,
	}, {
		Op:          llm.OpImageEdit,
		Routes:      []string{"POST /v1/images/edits"},
		Multipart:   true,
		Framing:     serverSent(),
		KeepAlive:   keepAlive,
		Scan:        openai.ScanImageEdit,
		NewEncoder:  func(m llm.Meta) Encoder { return openai.NewMediaEncoder(m) },
		Path:        at("/images/edits"),
		Splice:      openai.SpliceForm,
		DecodeReply: openai.DecodeImages,
		NewDecoder:  func(q *llm.Quirks) Decoder { return openai.NewMediaDecoder(q) },
		Stamp:       openai.Stamp,
	}, {
		Op:          llm.OpSpeech,
		Routes:      []string{"POST /v1/audio/speech"},
		Silent:      true,
		Raw:         true,
		Framing:     serverSent(),
		KeepAlive:   keepAlive,
		Scan:        openai.ScanSpeech,
		NewEncoder:  func(m llm.Meta) Encoder { return openai.NewMediaEncoder(m) },
		Path:        at("/audio/speech"),
		Splice:      compose.SpliceModel,
		DecodeReply: openai.DecodeSound,
		NewDecoder:  func(q *llm.Quirks) Decoder { return openai.NewMediaDecoder(q) },
		Stamp:       openai.Stamp,
	}, transcription(llm.OpTranscription, "/audio/transcriptions"), transcription(llm.OpTranslation,
		"/audio/translations")}
}

// at is a path that is the same for every model.
func at(path string) func(string, bool) string { return func(string, bool) string { return path } }

func transcription(op llm.Op, path string) *Operation {
	return &Operation{
		Op:          op,
		Routes:      []string{"POST /v1" + path},
		Multipart:   true,
		Raw:         true,
		Framing:     serverSent(),
		KeepAlive:   keepAlive,
		Scan:        openai.ScanTranscription,
		NewEncoder:  func(m llm.Meta) Encoder { return openai.NewMediaEncoder(m) },
		Path:        at(path),
		Splice:      openai.SpliceForm,
		DecodeReply: openai.DecodeTranscript,
		NewDecoder:  func(q *llm.Quirks) Decoder { return openai.NewMediaDecoder(q) },
		Stamp:       openai.Stamp,
	}
}

func anthropicOperations() []*Operation {
	return []*Operation{{
		Op:            llm.OpCountTokens,
		Silent:        true,
		Free:          true,
		Routes:        []string{"POST /v1/messages/count_tokens"},
		Scan:          anthropic.ScanCount,
		DecodeRequest: anthropic.DecodeRequest,
		EncodeReply:   anthropic.EncodeCount,
		Path:          anthropic.CountPath,
		Splice:        compose.SpliceModel,
		DecodeReply:   anthropic.DecodeCount,
		Stamp:         unstamped,
	}}
}

// unstamped is a reply without a usage.
func unstamped(dst, data []byte, _ *llm.Final) []byte { return append(dst, data...) }

func geminiOperations() []*Operation {
	return []*Operation{{
		Op:            llm.OpCountTokens,
		Silent:        true,
		Free:          true,
		Routes:        []string{"POST /v1beta/models/{target...}", "POST /v1/models/{target...}"},
		Suffix:        gemini.CountSuffix,
		Scan:          gemini.ScanCount,
		DecodeRequest: gemini.DecodeCounted,
		EncodeReply:   gemini.EncodeCount,
		Path:          gemini.CountPath,
		Splice:        gemini.SpliceCount,
		DecodeReply:   gemini.DecodeCount,
		Stamp:         unstamped,
	}, {
		Op:            llm.OpEmbed,
		Silent:        true,
		Routes:        []string{"POST /v1beta/models/{target...}", "POST /v1/models/{target...}"},
		Suffix:        gemini.EmbedSuffix,
		Scan:          gemini.ScanEmbed,
		DecodeRequest: gemini.DecodeEmbed,
		EncodeReply:   gemini.EncodeVectors,
		Path:          gemini.EmbedPath,
		EncodeRequest: gemini.EncodeEmbed,
		Splice:        gemini.SpliceEmbed,
		DecodeReply:   gemini.DecodeVectors,
		Stamp:         gemini.Stamp,
	}, { // one by one, at the client API alone
		Op:            llm.OpEmbed,
		Silent:        true,
		Routes:        []string{"POST /v1beta/models/{target...}", "POST /v1/models/{target...}"},
		Suffix:        gemini.EmbedOneSuffix,
		Scan:          gemini.ScanEmbedOne,
		DecodeRequest: gemini.DecodeEmbedOne,
		EncodeReply:   gemini.EncodeVector,
	}}
}

func bedrockOperations() []*Operation {
	return []*Operation{{
		Op:            llm.OpEmbed,
		Silent:        true,
		Routes:        []string{"POST /model/{target...}"},
		Suffix:        bedrock.EmbedSuffix,
		Scan:          bedrock.ScanEmbed,
		DecodeRequest: bedrock.DecodeEmbed,
		EncodeReply:   bedrock.EncodeVectors,
		Path:          bedrock.EmbedPath,
		EncodeRequest: bedrock.EncodeEmbed,
		DecodeReply:   bedrock.DecodeVectors,
	}}
}

func cohereOperations() []*Operation {
	return []*Operation{{
		Op:            llm.OpEmbed,
		Silent:        true,
		Routes:        []string{"POST /v2/embed"},
		Scan:          cohere.ScanEmbed,
		DecodeRequest: cohere.DecodeEmbed,
		EncodeReply:   cohere.EncodeVectors,
		Path:          cohere.EmbedPath,
		EncodeRequest: cohere.EncodeEmbed,
		DecodeReply:   cohere.DecodeVectors,
	}}
}

func ollamaOperations() []*Operation {
	return []*Operation{{
		Op:            llm.OpEmbed,
		Silent:        true,
		Routes:        []string{"POST /api/embed"},
		Scan:          ollama.ScanEmbed,
		DecodeRequest: ollama.DecodeEmbed,
		EncodeReply:   ollama.EncodeVectors,
		Path:          ollama.EmbedPath,
		EncodeRequest: ollama.EncodeEmbed,
		DecodeReply:   ollama.DecodeVectors,
	}}
}
