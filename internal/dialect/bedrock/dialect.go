// Package bedrock implements the client half of Amazon Bedrock's Converse and ConverseStream:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html and API_runtime_ConverseStream.html
// next to it. The model and the stream flag are in the path, and a stream consists of binary frames:
// application/vnd.amazon.eventstream.
//
// Trees share memory with the bytes that they were decoded from if they hold raw JSON, so they must not outlive those
// bytes.
package bedrock

import (
	"io"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
)

// Name names the format in the configuration.
const Name = "bedrock"

const (
	// maxDepth bounds the nesting of arrays and objects in a body.
	maxDepth = parse.MaxDepth
)

// The operations at the end of a path.
const (
	whole    = "converse"
	streamed = "converse-stream"
)

// Path returns the path after a provider's base URL, which has only the host. The model's id is one segment, escaped as
// the AWS SDKs do, because the signature covers the path as sent: ":" is %3A, and the "/" of an ARN is %2F.
func Path(model string, stream bool) string {
	const prefix = "/model/"
	dst := make([]byte, 0, len(prefix)+3*len(model)+len("/")+len(streamed))
	dst = append(appendSegment(append(dst, prefix...), model), '/')
	if stream {
		return string(append(dst, streamed...))
	}
	return string(append(dst, whole...))
}

// appendSegment escapes all but the unreserved characters of RFC 3986.
func appendSegment(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_', c == '~':
			dst = append(dst, c)
		default:
			dst = append(dst, '%', hex[c>>4], hex[c&0xf])
		}
	}
	return dst
}

// Dialect returns the wire format.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name:        Name,
		Habits:      dialect.Habits{CacheMarks: true},
		Auth:        "aws",
		DecodeError: DecodeError,
		SearchTool:  SearchTool,
		Counters:    []*dialect.Counter{counter()},
		Inputs: dialect.Inputs{Tools: []dialect.Tool{
			{Prefix: "systemtool:" + grounding, Class: llm.Searches},
		}},
		Operations: []*dialect.Operation{{
			Op: llm.OpEmbed, Silent: true, Path: EmbedPath,
			EncodeRequest: EncodeEmbed, DecodeReply: DecodeVectors,
		}},
		Operation: dialect.Operation{
			Op: llm.OpChat,
			Framing: dialect.Framing{
				ContentType: ContentType,
				NewReader:   func(src io.Reader, max int) dialect.Frames { return NewReader(src, max) },
			},
			Path:          Path,
			EncodeRequest: EncodeRequest,
			DecodeReply:   DecodeReply,
			NewDecoder:    func(q *llm.Quirks) dialect.Decoder { return NewDecoder(q) },
			Idle:          Idle,
		},
	}
}
