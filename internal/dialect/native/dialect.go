// Package native implements the gateway's own chat format at /v1/chat: messages with a role and a prompt, and one
// answer with its usage. It has only a server half; no provider speaks it.
package native

import (
	"weir/internal/dialect"
	"weir/internal/llm"
)

// Name is the name of the format.
const Name = "native"

// Dialect returns the wire format.
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
