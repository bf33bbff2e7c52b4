package tool

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/internal/account"
	"weir/internal/mcp"
	"weir/internal/must"
)

// TestClosedSubscriptionLeavesNoStream follows a resource twice, as two requests at once may.
func TestClosedSubscriptionLeavesNoStream(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	defer server.Close()
	of := &source{gone: make(chan struct{})}
	of.client = must.Get(mcp.New(mcp.Options{Name: "peer", URL: server.URL, AllowPrivate: true}))(t)
	who := account.NewPrincipal(&account.Account{}, &account.Key{})
	x := newSubscription(New(Options{}), Interest{Caller: Caller{Principal: who}})
	for range 2 {
		if !x.follow(t.Context(), of, []string{"doc://readme"}, func([]string) {}) {
			t.Error("the resource is not followed")
		}
	}
	x.Close()
}
