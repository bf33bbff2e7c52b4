// Package openai implements both halves of OpenAI's Chat Completions
// (https://platform.openai.com/docs/api-reference/chat) and, with quirks as data, of the many providers that adopted
// the format.
//
// Trees share memory with the bytes that they were decoded from if they hold raw JSON, so they must not outlive those
// bytes.
package openai

import (
	_ "embed"

	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

//go:embed openapi.yaml
var document string

//go:embed openapi_media.yaml
var mediaDocument string

// Name names the format in the configuration.
const Name = "openai"

const (
	// maxDepth bounds the nesting of arrays and objects in a body.
	maxDepth = parse.MaxDepth
	// maxChoices is the documented limit of n.
	maxChoices = 128

	outputCap       = "max_completion_tokens"
	legacyOutputCap = "max_tokens"
)

// Dialect returns the wire format.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name:       Name,
		Habits:     dialect.Habits{Returned: []string{"X-Ratelimit-"}},
		UsageAt:    [][]string{{"usage"}},
		Vendor:     Name,
		KeyHeaders: []string{"X-Api-Key", "Api-Key"}, // Azure's
		// https://platform.openai.com/docs/api-reference/models/list, 2026-11-26
		ListPath:    "/models",
		Passed:      []string{"Openai-Beta"},
		Usual:       true,
		ClientAPI:   true,
		IDPrefix:    "chatcmpl-",
		Status:      vocabulary.Status,
		EncodeError: EncodeError,
		DecodeError: DecodeError,
		Inquiry:     &dialect.Inquiry{Name: "generation", Every: true, Path: generationPath, Decode: DecodeGeneration},
		Counters:    counters(),
		Inputs:      inputs(),
		SearchTool:  SearchTool,
		Documents:   []string{document, mediaDocument},
		Operations:  operations(),
		Operation: dialect.Operation{
			Op:            llm.OpChat,
			Routes:        []string{"POST /v1/chat/completions"},
			KeepAlive:     dialect.KeepAlive,
			Framing:       dialect.ServerSent(),
			EndMarker:     dialect.Done,
			Scan:          Scan,
			DecodeRequest: DecodeRequest,
			EncodeReply:   EncodeReply,
			NewEncoder:    func(m llm.Meta) dialect.Encoder { return NewEncoder(m) },
			Path:          dialect.At("/chat/completions"),
			EncodeRequest: EncodeRequest,
			Splice:        Splice,
			DecodeReply:   DecodeReply,
			NewDecoder:    func(q *llm.Quirks) dialect.Decoder { return NewDecoder(q) },
			Idle:          Idle,
			Stamp:         Stamp,
			MeasureReply:  MeasureReply,
			HasUsage:      HasUsage,
			NameCalls:     NameCalls,
		},
	}
}

// inputs lists the fields of requests that the tree does not model.
func inputs() dialect.Inputs {
	return dialect.Inputs{
		Plain: rawjson.Names{
			"model", "messages", "max_tokens", "max_completion_tokens", "stream", "stream_options", "temperature",
			"top_p",
		},
		Shown: rawjson.Names{
			"store", "metadata", "logprobs", "toplogprobs", "logitbias", "servicetier", "safetyidentifier",
			"promptcachekey", "promptcacheoptions", "promptcacheretention", "verbosity", "modalities", "audio",
			"responseformat",
			"toolchoice", "functioncall",
			// of servers and vendors that use the same format
			"repetitionpenalty", "lengthpenalty", "norepeatngramsize", "minp", "topa", "mintokens",
			"stoptokenids", "ignoreeos", "skipspecialtokens", "badwords", "allowedtokenids", "randomseed",
			"priority", "safeprompt", "promptmode", "guidedjson", "guidedregex", "guidedchoice", "guidedgrammar",
			"enablethinking", "includereasoning", "reasoningformat", "addgenerationprompt",
			"continuefinalmessage", "usage", "keepalive",
		},
		ShownParts:  rawjson.Names{"custom"}, // a call of such a tool
		Functions:   rawjson.Names{"function"},
		ClientTools: []string{"custom"},
		Tools:       serverTools(),
		Told:        rawjson.Names{"compoundcustom"}, // Groq lists the tools that ran
	}
}

// operations returns the operations in addition to chat.
func operations() []*dialect.Operation {
	return []*dialect.Operation{
		{
			Op: llm.OpEmbed, Silent: true, Routes: []string{"POST /v1/embeddings"}, Scan: ScanEmbed,
			DecodeRequest: DecodeEmbed, EncodeReply: EncodeVectors, Path: dialect.At("/embeddings"),
			EncodeRequest: EncodeEmbed, Splice: SpliceEmbed, DecodeReply: DecodeVectors, Stamp: Stamp,
		},
		media(llm.OpImage, "/images/generations", dialect.Operation{
			Scan: ScanImage, Splice: compose.SpliceModel, DecodeReply: DecodeImages,
		}),
		media(llm.OpImageEdit, "/images/edits", dialect.Operation{
			Multipart: true, Scan: ScanImageEdit, Splice: SpliceForm, DecodeReply: DecodeImages,
		}),
		media(llm.OpSpeech, "/audio/speech", dialect.Operation{
			Silent: true, Raw: true, Scan: ScanSpeech, Splice: compose.SpliceModel, DecodeReply: DecodeSound,
		}),
		media(llm.OpTranscription, "/audio/transcriptions", transcription()),
		media(llm.OpTranslation, "/audio/translations", transcription()),
	}
}

func transcription() dialect.Operation {
	return dialect.Operation{
		Multipart: true, Raw: true, Scan: ScanTranscription, Splice: SpliceForm, DecodeReply: DecodeTranscript,
	}
}

// media returns an operation of images or sound, which is not translated.
func media(op llm.Op, path string, o dialect.Operation) *dialect.Operation {
	o.Op, o.Routes, o.Path = op, []string{"POST /v1" + path}, dialect.At(path)
	o.Framing, o.KeepAlive = dialect.ServerSent(), dialect.KeepAlive
	o.Stamp, o.HasUsage = Stamp, HasUsage
	o.NewEncoder = func(m llm.Meta) dialect.Encoder { return NewMediaEncoder(m) }
	o.NewDecoder = func(q *llm.Quirks) dialect.Decoder { return NewMediaDecoder(q) }
	if op == llm.OpSpeech {
		o.NewDecoder = func(q *llm.Quirks) dialect.Decoder { return NewSpeechDecoder(q) }
	}
	return &o
}
