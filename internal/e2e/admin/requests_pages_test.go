package admin_test

import (
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestRequestsAreFoundOnPages finds an answered and a refused request by filters and by their ids.
func TestRequestsAreFoundOnPages(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	ada := newBrowser(h)
	ada.post(strings.TrimPrefix(setupForm.FindString(h.Out.String()), h.URL), "name", "Ada", "email", "ada@example.com", "password", leakedPassword)
	answered := h.Do(harness.Ask{
		Path: "/v1/chat/completions", Header: []string{"X-Weir-Tags", "team=search"},
		Body: `{"model":"house/echo","user":"customer-7","messages":[{"role":"user","content":"Hello"}]}`,
	}).Header.Get("X-Request-Id")
	refused := h.Chat("nobody/model").Header.Get("X-Request-Id")
	const list = "/accounts/default/requests"
	for _, test := range []struct {
		path      string
		has, lack []string
	}{
		{list, []string{answered, "customer-7", "team=search"}, []string{refused}},
		{list + "?user=customer-7&tag=team%3Dsearch&status=200&max_cost_usd=1", []string{answered}, nil},
		{list + "?user=customer-8", []string{"No matching request"}, []string{answered}},
		{list + "?error_code=PROVIDER_ERROR", []string{"No matching request"}, []string{answered}},
		{list + "?min_cost_usd=many&tag=x&start_time=10:00", []string{"US dollars", "team=search", "needs a day"}, nil},
		{list + "?ended=refused", []string{refused, "nobody/model", "MODEL_NOT_FOUND"}, []string{answered}},
		{list + "?ended=refused&model=house/echo", []string{"No request was refused"}, []string{refused}},
		{list + "?ended=refused&user=nobody", []string{"Clear these filters"}, []string{refused}},
		{list + "?id=" + answered, []string{"Timeline", "customer-7"}, nil},
		{list + "?id=" + refused, []string{"Refused request", "is not served here"}, nil},
		{list + "?id=chatcmpl-nothing", []string{"No matching request"}, []string{answered}},
		{"/accounts/default", []string{"One request was", "ended=refused"}, nil},
	} {
		page := ada.get(test.path).Body
		for _, text := range test.has {
			if !strings.Contains(page, text) {
				t.Errorf("%s: got no %q in %s", test.path, text, page)
			}
		}
		for _, text := range test.lack {
			if strings.Contains(page, text) {
				t.Errorf("%s: got %q", test.path, text)
			}
		}
	}
}
