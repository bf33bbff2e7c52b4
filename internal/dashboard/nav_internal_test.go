package dashboard

import (
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
)

func TestDollarsHaveAllDigits(t *testing.T) {
	t.Parallel()
	for m, want := range map[llm.Money]string{
		0: "$0.00", 5 * llm.USD: "$5.00", llm.USD / 2: "$0.50", 301_030_000: "$0.30103", 1: "$0.000000001",
		1_234_567 * llm.USD: "$1,234,567.00", -12 * llm.USD: "-$12.00", 999 * llm.USD: "$999.00",
	} {
		if got := dollars(m); got != want {
			t.Errorf("dollars of %d: got %q, want %q", m, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := number(n); got != want {
			t.Errorf("number of %d: got %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "just now", time.Minute: "1 minute ago", 59 * time.Minute: "59 minutes ago", 25 * time.Hour: "1 day ago",
		-2 * time.Hour: "in 2 hours", 40 * 24 * time.Hour: "12 Oct 2026",
	} {
		if got := between(testTime, testTime.Add(-d)); got != want {
			t.Errorf("%s before: got %q, want %q", d, got, want)
		}
	}
}

func TestBrowserIsNamed(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36":                                   "Chrome on Linux",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0 Safari/537.36 Edg/156.0":                                       "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0":                                                    "Firefox on macOS",
		"": "Unknown browser", "<b>": "Unknown browser",
	} {
		if got := browser(agent); got != want {
			t.Errorf("%q: got %q, want %q", agent, got, want)
		}
	}
}

func TestFormIsFollowedOnce(t *testing.T) {
	t.Parallel()
	var o once
	if !o.first("a", testTime) || o.first("a", testTime.Add(onceFor-1)) || !o.first("a", testTime.Add(onceFor)) {
		t.Error("a repeated form: got it followed, or one after an hour not")
	}
	o.forget("a")
	if !o.first("a", testTime) || !o.first("", testTime) || !o.first("", testTime) {
		t.Error("a form that failed, or without a name: got it not followed")
	}
	for i := range 2 * onceMax {
		o.first(string(rune(i+1)), testTime)
	}
	if got := len(o.seen); got > onceMax {
		t.Errorf("forms remembered: got %d, want at most %d", got, onceMax)
	}
}

// TestNavigationShowsPermittedPages shows each person the permitted pages, and the current one.
func TestNavigationShowsPermittedPages(t *testing.T) {
	t.Parallel()
	for role, want := range map[people.Role][2]int{people.Viewer: {9, 0}, people.Member: {11, 0}, people.Owner: {12, 0}, "": {12, 14}} {
		_, groups := navigation("/accounts/acme/requests/0199", visitOf(role))
		if len(groups[0].Links) != want[0] || (len(groups) > 1) != (want[1] > 0) || len(groups) > 1 && len(groups[1].Links) != want[1] {
			t.Errorf("%q: got %v, want %v links", role, groups, want)
		}
		for _, l := range groups[0].Links {
			if l.Current != (l.Label == "Requests") {
				t.Errorf("%q, %s: got current %v", role, l.Label, l.Current)
			}
		}
	}
}

// TestNavigationLeadsToPages checks that each link of the navigation has a page.
func TestNavigationLeadsToPages(t *testing.T) {
	t.Parallel()
	pages := map[string]bool{}
	for _, r := range newServer(t).Routes() {
		pages[r.Pattern] = true
	}
	for base, places := range map[string][]place{"/accounts/{account}": accountPlaces, "": operatorPlaces} {
		for _, p := range places {
			if !pages["GET "+base+p.path] {
				t.Errorf("%s of %q: got no page", p.path, base)
			}
		}
	}
}
