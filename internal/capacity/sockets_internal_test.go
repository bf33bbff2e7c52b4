package capacity

import (
	"net/http/httptest"
	"testing"

	"weir/internal/must"
)

// TestStreamOfEventsHoldsPlaceAndNoSlot opens streams until the account's share of places is used up.
func TestStreamOfEventsHoldsPlaceAndNoSlot(t *testing.T) {
	t.Parallel()
	n := newNode(t, 4, 1<<20)
	begin := func() error {
		h := n.Hold(&Client{Request: httptest.NewRequest("POST", "/mcp", nil)}, "")
		must.Do(t, h.Enter())
		must.Do(t, h.TakeShare("a"))
		err := h.SwapForSocket()
		if err != nil {
			n.Leave("a", h.Priority())
		}
		must.Equal(t, h.IsAdmitted(), err != nil, "a slot")
		return err
	}
	const most = 12 // 80 % of 16 places, which is more than there are slots
	for range most {
		must.Do(t, begin())
	}
	if begin() == nil {
		t.Error("a stream beyond the share: got a place, want a refusal")
	}
	must.Equal(t, n.InFlight(), int64(0), "requests in flight")
	n.LeaveSocket("a")
	must.Do(t, begin())
}
