package provider

import (
	"bytes"
	"net/http"
	"strings"
)

// These are Cloudflare's statuses for a failed request that the server behind it may have worked on
// (https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/): an invalid
// answer, a connection timeout, a late answer. 521, 523, 525 and 526 mean that no connection was established.
const (
	statusUnknownAnswer   = 520
	statusNoAcknowledging = 522
	statusTooSlow         = 524
	// statusClientClosed is nginx's and Google's status for a request that the client cancelled.
	statusClientClosed = 499
)

// GaveUp reports whether the status means that a proxy, a load balancer or the provider's own front end waited for the
// provider and gave up. The provider may have worked on the request, and may still do so.
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

// Unseen reports whether the status leaves open whether the provider has worked on the request: after a timeout or a
// cancellation, or if a proxy reports only that its connection to the provider failed.
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

// Explained reports whether the provider itself gave a reason in its wire format, unlike the error page of a proxy.
func (f *Failure) Explained() bool { return f.Upstream.Message != "" || f.Upstream.Code != "" }

// isLost reports whether a body is Envoy's message about a connection that ended before the answer arrived. Its status
// otherwise means that there was no connection
// (https://www.envoyproxy.io/docs/envoy/latest/faq/debugging/why_is_envoy_sending_internal_responses).
func isLost(body []byte) bool { return bytes.Contains(body, []byte("connection termination")) }

// TooDear reports whether a reseller has no endpoint that serves the model within the request's highest price.
// OpenRouter's message is "No endpoints found that satisfy the max price for this request".
func (f *Failure) TooDear() bool {
	return f.Status == http.StatusNotFound && strings.Contains(strings.ToLower(f.Upstream.Message), "max price")
}
