package gateway

import (
	"errors"
	"testing"

	"weir/internal/llm"
	"weir/internal/quotetest"
)

// TestMistakesAreDecodedOnce checks that a body that cannot be decoded is tried once, and that no memory stays reserved
// for it.
func TestMistakesAreDecodedOnce(t *testing.T) {
	t.Parallel()
	a := newAsked(t, quotetest.Asked{ClientAPI: "openai", Target: "openai", Body: `{"messages":[{"role":"user","content":"Hi"}]}`})
	in, decoded, wrong := a.in, 0, errors.New("wrong")
	op := *in.Op
	op.DecodeRequest = func([]byte) (*llm.Request, error) { decoded++; return nil, wrong }
	in.Op = &op
	before := in.held.Reserved()
	for range 3 {
		if _, err := in.Tree(); !errors.Is(err, wrong) {
			t.Errorf("got %v, want %v", err, wrong)
		}
		in.DropTree()
	}
	if after := in.held.Reserved(); decoded != 1 || after != before {
		t.Errorf("decoded %d times with %d bytes reserved, want once and %d bytes", decoded, after, before)
	}
}
