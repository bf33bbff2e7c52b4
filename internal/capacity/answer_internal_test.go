package capacity

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"weir/internal/llm"
)

// TestStateOfStreamsCountsUntilTheirEnd checks that the state of a stream counts until its end although its events are
// sent, and that no other answer gets the overdraft while such state uses it.
func TestStateOfStreamsCountsUntilTheirEnd(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 1, 2*16*mib)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		first, second := n.Hold(&Client{Request: r}, "a"), n.Hold(&Client{Request: r}, "a")
		for _, err := range []error{first.Keep(mib), first.Arrive(2 * mib), first.Keep(3 * mib)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if text := first.KeepText(100); text != textStep || n.answers.all != 5*mib+textCopies*textStep {
			t.Errorf("%d bytes of text, %d bytes counted, want %d, 2 MiB that arrived, and 3 MiB and the text that stay", text, n.answers.all, textStep)
		}
		if first.Sent(); n.answers.all != 3*mib+textCopies*textStep {
			t.Errorf("got %d bytes counted after the event was sent, want only the state's", n.answers.all)
		}
		if err := second.Keep(20 * mib); err != nil || !second.overdrawn {
			t.Errorf("more than there is: %v, want the overdraft", err)
		}
		if text := second.KeepText(mib); text != 0 {
			t.Errorf("got %d bytes of text, want none: there is no memory for them", text)
		}
		second.Sent()
		if err := first.Arrive(10 * mib); llm.AsError(err).Code != llm.CodeOverloaded {
			t.Errorf("another answer: %v, want %s", err, llm.CodeOverloaded)
		}
		second.EndAnswer()
		if err := first.Arrive(10 * mib); err != nil {
			t.Errorf("after it: %v", err)
		}
		first.EndAnswer()
		if n.answers.all != 0 || len(n.overdraft) != 0 {
			t.Errorf("%d bytes are left, the overdraft %d", n.answers.all, len(n.overdraft))
		}
	})
}
