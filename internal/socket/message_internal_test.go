package socket

import (
	"testing"

	"weir/internal/dialect/parse"
	"weir/internal/rawjson"
	"weir/internal/worktest"
)

// FuzzMessage checks that the work for a message is bounded by its bytes, and that what is read of a valid one is a
// request of the same members without those of the protocol.
func FuzzMessage(f *testing.F) {
	for _, text := range []string{
		``, `{}`, `[]`, `{"type":"response.create","model":"m","input":"x"}`,
		`{"type":"response.create","stream_id":"a.b-c_1","generate":false,"stream":false,"model":"m","input":[]}`,
		`{"\u0074ype":"response.create","type":"response.create"}`, `{"type":"response.steer","previous_response_id":"r","input":[{}]}`,
		`{"Type":"response.create"}`, `{"type":"response.create","stream_id":null,"generate":null}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		worktest.Check(t, text, func(text []byte) {
			m := &message{body: text}
			if m.parse() != nil {
				return
			}
			if err := rawjson.Validate(m.body, parse.MaxDepth); err != nil {
				t.Fatalf("%q became %q: %v", text, m.body, err)
			}
			stream, ok := rawjson.AsBool(rawjson.Get(m.body, "stream"))
			if !ok || !stream || rawjson.Get(m.body, "type") != nil || rawjson.Get(m.body, "stream_id") != nil || m.lane != "" && !isLane(m.lane) {
				t.Fatalf("%q became %q in the lane %q", text, m.body, m.lane)
			}
			if (m.input != nil) && m.kind != kindSteer {
				t.Fatalf("%q keeps its input", text)
			}
		})
	})
}
