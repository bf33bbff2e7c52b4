package dashboard_test

import (
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/people"
)

// TestTimeOfToolIsNoSound checks that the seconds of a call of a tool are not shown as those of sound.
func TestTimeOfToolIsNoSound(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Viewer)
	e := used(s.acme, ago(1, 0), "mcp.issues/search")
	e.Price = llm.Price{Version: "tools", Rates: llm.Rates{llm.Milliseconds: 1_000_000}}
	e.Usage = llm.Usage{llm.Milliseconds: 2000}
	e.Cost, e.Unpriced = e.Price.Cost(&e.Usage, ""), 0
	s.journal().apply(t, nil, e)
	text := s.see(t, "/accounts/acme/requests/"+e.ID.Request.String(), `<th scope="row">Time of the call</th>`, "2 s")
	if strings.Contains(text, `<th scope="row">Audio</th>`) {
		t.Error("the time of a tool is called audio")
	}
}
