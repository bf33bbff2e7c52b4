package provider

import (
	"bytes"
	"net/http"
	"strings"
)

// The statuses of Cloudflare for a server behind it that may have worked
// (https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/): its answer was none, its connection
// ran out of time, or it took too long. 521, 523, 525 and 526 are about connections that never were.
const (
	statusUnknownAnswer   = 520
	statusNoAcknowledging = 522
	statusTooSlow         = 524
	// statusClientClosed is nginx's, and Google's for a request that was cancelled.
	statusClientClosed = 499
)

// GaveUp reports whether a status says that somebody waited for the provider and gave up: a proxy or a balancer before it, or
// its own front. The provider may have worked all the same, and may go on.
func (f *Failure) GaveUp() bool {
	if f.Kind != KindStatus {
		return false
	}
	switch f.Status {
	case http.StatusGatewayTimeout, statusNoAcknowledging, statusTooSlow:
		return true
	}
	return false
}

// Unseen reports whether a status leaves open what became of the provider's work: that of somebody who gave up or was left,
// and that of somebody between who says no more than that the connection to the provider failed.
func (f *Failure) Unseen() bool {
	switch {
	case f.Kind != KindStatus:
		return false
	case f.GaveUp():
		return true
	}
	switch f.Status {
	case http.StatusRequestTimeout, statusClientClosed, statusUnknownAnswer:
		return true
	case http.StatusBadGateway:
		return !f.Explained()
	case http.StatusServiceUnavailable:
		return f.lost
	}
	return false
}

// Explained reports whether the provider itself has said why, in the words of its wire format. A page of a proxy has none.
func (f *Failure) Explained() bool { return f.Upstream.Message != "" || f.Upstream.Code != "" }

// isLost reports whether a body is Envoy's for a connection that ended before the answer came, which has a status that
// otherwise says that there was none (https://www.envoyproxy.io/docs/envoy/latest/faq/debugging/why_is_envoy_sending_internal_responses).
func isLost(body []byte) bool { return bytes.Contains(body, []byte("connection termination")) }

// TooDear reports whether a reseller has nobody who serves the model within the highest price of the request. OpenRouter's
// words are "No endpoints found that satisfy the max price for this request".
func (f *Failure) TooDear() bool {
	return f.Status == http.StatusNotFound && strings.Contains(strings.ToLower(f.Upstream.Message), "max price")
}
