package provider

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// statusOverloaded is Anthropic's status for "overloaded", which other vendors use, too.
	statusOverloaded = 529
	// maxRetryAfter is the longest Retry-After that is accepted.
	maxRetryAfter = time.Hour
)

// statusFailure returns the failure of an answer with an error status.
func (r *Response) statusFailure(body []byte) *Failure {
	p, status, h := r.exchange.provider, r.Status, r.Header
	var upstream llm.ProviderError
	if decode := r.dialect.DecodeError; decode != nil && h.Get("Content-Encoding") == "" {
		upstream = decode(body)
		upstream.Message, upstream.Param = p.redact(upstream.Message), p.redact(upstream.Param)
		upstream.Code, upstream.Word = p.redact(upstream.Code), p.redact(upstream.Word)
	}
	switch {
	case status < http.StatusBadRequest:
		status = namedStatus(body, upstream.Code, status)
	case status >= http.StatusInternalServerError && upstream.Code == explain.Context:
		status = http.StatusBadRequest // llama.cpp answers so if the input is longer than its batch
	case status == http.StatusForbidden && upstream.Code == explain.Policy:
		status = http.StatusBadRequest // xAI answers so because of the caller's content
	case status == http.StatusBadRequest && upstream.Code == "billing_error":
		// Anthropic answers so if the account has no credit, which the caller cannot correct.
		status = http.StatusPaymentRequired
	}
	status = cmp.Or(upstream.Status, status)
	after := cmp.Or(retryAfter(h, p.opts.Now()), clampRetry(upstream.RetryAfter.Seconds()))
	f := &Failure{
		Kind: KindStatus, Status: status, RetryAfter: after, Upstream: upstream, sent: true, lost: isLost(body),
	}
	f.Err = &llm.Error{
		Code:       explain.CodeOfStatus(status),
		Message:    p.statusMessage(f, r.model),
		RetryAfter: after, RetryTold: after > 0,
		Err: fmt.Errorf("provider %s: status %d: %s", p.opts.Name, status,
			cmp.Or(upstream.Message, "no explanation")),
	}
	if callersFault(f.Err.Code) {
		f.Err.Param = upstream.Param
	}
	f.setMisfit()
	switch {
	case ours(status):
	case f.Overflow():
		f.Err.Word = explain.Context
	case upstream.Code == explain.Policy:
		f.Err.Word, f.Err.Filtered = upstream.Code, upstream.Filtered // the code is the same for all providers
	default:
		f.Err.Word = upstream.Word
	}
	return f
}

// ours reports whether a status concerns the gateway's own credentials.
func ours(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusPaymentRequired || status == http.StatusForbidden
}

// statusMessage returns a message that is safe to show. It has the provider's own words only if the caller can correct
// the mistake.
func (p *Provider) statusMessage(f *Failure, model string) string {
	name := p.opts.Name
	switch explain.CodeOfStatus(f.Status) {
	case llm.CodeInvalidRequest, llm.CodeRequestTooLarge:
		return cmp.Or(f.Upstream.Message,
			fmt.Sprintf("The provider %s refused the request without an explanation.", name))
	case llm.CodeModelNotFound:
		if f.TooDear() {
			return fmt.Sprintf("No endpoint of the provider %s serves the model %q within the highest price of the "+
				"request (provider.max_price). Under a budget the gateway sets that price by the budget's room, to at "+
				"most 16 times the model's price here. Raise the budget, or have the operator set the model's price "+
				"under prices in the configuration.", name, model)
		}
		if f.Upstream.Word != "" && f.Upstream.Message != "" { // the error may be about something other than the model
			return f.Upstream.Message
		}
		return fmt.Sprintf("The provider %s has no model %q", name, model) + orAddress(f.Upstream.Message, model)
	case llm.CodeProviderTimeout:
		return fmt.Sprintf("The provider %s did not answer in time.", name)
	case llm.CodeRateLimited:
		return fmt.Sprintf("The provider %s has reached its rate limit.", name) + tryAgain(f.RetryAfter)
	case llm.CodeProviderUnavailable:
		return fmt.Sprintf("The provider %s is overloaded or out of service.", name)
	}
	switch {
	case ours(f.Status):
		return fmt.Sprintf("The provider %s refused the gateway's own credentials.", name)
	case f.Status == http.StatusOK:
		return fmt.Sprintf("The provider %s answered with an error.", name)
	}
	return fmt.Sprintf("The provider %s answered with status %d.", name, f.Status)
}

// orAddress returns the rest of that sentence. A 404 that does not mention the model may be caused by a wrong address.
func orAddress(said, model string) string {
	switch lower := strings.ToLower(said); {
	case strings.Contains(lower, "model"), strings.Contains(said, model):
		return "."
	case said == "":
		return ", or its base_url in the configuration is wrong."
	}
	return fmt.Sprintf(", or its base_url in the configuration is wrong: it said %q.", said)
}

// tryAgain returns a sentence with the wait; empty for 0.
func tryAgain(wait time.Duration) string {
	if wait == 0 {
		return ""
	}
	return " " + llm.TryAgain(wait)
}

// isErrorBody reports whether a whole reply of status 200 is only an error. Errors next to an answer are decoded by the
// dialect.
func isErrorBody(body []byte) bool {
	const near = 512 // an error is at the front; long answers are not searched
	if !bytes.Contains(body[:min(len(body), near)], []byte(`"error"`)) {
		return false
	}
	found := false
	for m := range rawjson.Members(body) {
		switch string(m.Key()) {
		case "error":
			found = rawjson.Present(m.Value)
		case "content", "data", "embedding":
			if rawjson.HasElement(m.Value) {
				return false
			}
		case "output", "embeddings": // an object is Bedrock's message, or Cohere's vectors by type
			if rawjson.HasElement(m.Value) || rawjson.KindOf(m.Value) == rawjson.Object {
				return false
			}
		case "message": // a string belongs to the error
			if rawjson.KindOf(m.Value) == rawjson.Object {
				return false
			}
		case "choices", "candidates", "usage", "usageMetadata", "usage_metadata", "prompt_eval_count", "eval_count":
			if rawjson.Present(m.Value) {
				return false
			}
		}
	}
	return found
}

// namedStatus returns the status that the error in a successful response names: as a number (OpenRouter) or as a word
// (OpenAI, Anthropic).
func namedStatus(body []byte, word string, otherwise int) int {
	for _, path := range [][]string{{"error", "code"}, {"error", "status"}, {"code"}} {
		n, ok := rawjson.AsInt(rawjson.Get(body, path...))
		if ok && n >= http.StatusBadRequest && n < 600 {
			return int(n)
		}
	}
	switch word {
	case "invalid_request_error", "context_length_exceeded":
		return http.StatusBadRequest
	case "authentication_error", "invalid_api_key":
		return http.StatusUnauthorized
	case "billing_error":
		return http.StatusPaymentRequired
	case "rate_limit_error", "rate_limit_exceeded", "insufficient_quota":
		return http.StatusTooManyRequests
	case "overloaded_error":
		return statusOverloaded
	}
	return otherwise
}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3: seconds or a date) and OpenAI's header with milliseconds.
// Invalid values count as absent. The result is between 0 and one hour.
func retryAfter(h Header, now time.Time) time.Duration {
	if ms, err := decimal(h.Get("Retry-After-Ms")); err == nil {
		return clampRetry(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := decimal(v); err == nil {
		return clampRetry(s)
	}
	if t, err := http.ParseTime(v); err == nil {
		return clampRetry(t.Sub(now).Seconds())
	}
	return 0
}

var errNotDecimal = errors.New("not a plain decimal")

// decimal parses digits and a decimal point only, since ParseFloat also accepts "Inf" and "0x1p9".
func decimal(s string) (float64, error) {
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, errNotDecimal
	}
	return strconv.ParseFloat(s, 64)
}

func clampRetry(seconds float64) time.Duration {
	seconds = math.Max(0, math.Min(seconds, maxRetryAfter.Seconds()))
	return time.Duration(seconds * float64(time.Second))
}
