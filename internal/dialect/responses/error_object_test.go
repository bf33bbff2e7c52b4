package responses_test

import (
	"errors"
	"testing"

	"weir/internal/dialect/responses"
	"weir/internal/llm"
	"weir/internal/sse"
)

// TestBareErrorObjectIsAnError checks errors that stand in no member error, as vLLM writes them, in a whole answer
// and in a stream.
func TestBareErrorObjectIsAnError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body string
		want llm.Code // empty for no error
	}{
		{`{"object":"error","message":"boom","type":"BadRequestError","param":null,"code":400}`, llm.CodeInvalidRequest},
		{`{"message":"slow down","code":429,"object":"error"}`, llm.CodeRateLimited},
		{`{"object":"error"}`, llm.CodeProviderError},
		{`{"object":"response","type":"response.created","output":[]}`, ""},
	} {
		_, whole := responses.DecodeReply([]byte(tt.body), &llm.Quirks{})
		_, streamed := responses.NewDecoder(&llm.Quirks{}).Decode(nil, sse.Event{Data: []byte(tt.body)})
		for how, err := range map[string]error{"whole": whole, "streamed": streamed} {
			var code llm.Code
			if e, ok := errors.AsType[*llm.Error](err); ok {
				code = e.Code
			}
			if code != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("%s, %s: got %v (%s), want %q", tt.body, how, err, code, tt.want)
			}
		}
	}
}
