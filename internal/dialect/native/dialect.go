// Package native is the service's own chat format at /v1/chat: messages with a
// role and a prompt in, one answer with its usage out. It has a server half
// alone; no provider speaks it.
package native

import (
	"weir/internal/dialect"
	"weir/internal/llm"
)

// Name is the word for the format.
const Name = "native"

// Dialect is the wire format.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name:        Name,
		UsageAt:     [][]string{{"usage"}},
		ClientAPI:   true,
		Status:      llm.Code.Status,
		EncodeError: EncodeError,
		Operation: dialect.Operation{
			Op: llm.OpChat,
			Routes: []string{
				"POST /v1/chat",
				"POST /api/chat",
			},
			KeepAlive:     dialect.KeepAlive,
			Framing:       dialect.ServerSent(),
			EndMarker:     dialect.Done,
			Scan:          Scan,
			DecodeRequest: DecodeRequest,
			EncodeReply:   EncodeReply,
			NewEncoder:    func(m llm.Meta) dialect.Encoder { return NewEncoder(m) },
		},
	}
}
