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
	// statusOverloaded is Anthropic's "overloaded", which others have taken up.
	statusOverloaded = 529
	// maxRetryAfter is the longest that a provider is taken at its word.
	maxRetryAfter = time.Hour
)

// statusFailure is the failure of an answer with an error status.
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
		status = http.StatusBadRequest // llama.cpp says so of an input that is longer than its batch
	case status == http.StatusForbidden && upstream.Code == explain.Policy:
		status = http.StatusBadRequest // xAI says so of the caller's words, not of our credentials
	case status == http.StatusBadRequest && upstream.Code == "billing_error":
		// Anthropic says so of an account without money; the caller cannot put it right
		status = http.StatusPaymentRequired
	}
	status = cmp.Or(upstream.Status, status)
	after := cmp.Or(retryAfter(h, p.opts.Now()), clampRetry(upstream.RetryAfter.Seconds()))
	f := &Failure{Kind: KindStatus, Status: status, RetryAfter: after, Upstream: upstream, sent: true, lost: isLost(body)}
	f.Err = &llm.Error{
		Code:       statusCode(status),
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
		f.Err.Word, f.Err.Filtered = upstream.Code, upstream.Filtered // every provider's word for these, by now
	default:
		f.Err.Word = upstream.Word
	}
	return f
}

// ours tells the statuses that are about the gateway's own credentials.
func ours(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusPaymentRequired || status == http.StatusForbidden
}

// statusCode is what a provider's status is to our client when nothing else is
// left to try. Its 401, 402 and 403 are about our credentials, never the
// caller's.
func statusCode(status int) llm.Code {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return llm.CodeInvalidRequest
	case http.StatusRequestEntityTooLarge:
		return llm.CodeRequestTooLarge
	case http.StatusNotFound:
		return llm.CodeModelNotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return llm.CodeProviderTimeout
	case http.StatusTooManyRequests:
		return llm.CodeRateLimited
	case http.StatusServiceUnavailable, statusOverloaded:
		return llm.CodeProviderUnavailable
	}
	return llm.CodeProviderError
}

// statusMessage is safe to show. Only what the caller has to put right is told
// in the provider's own words.
func (p *Provider) statusMessage(f *Failure, model string) string {
	name := p.opts.Name
	switch statusCode(f.Status) {
	case llm.CodeInvalidRequest, llm.CodeRequestTooLarge:
		return cmp.Or(f.Upstream.Message, fmt.Sprintf("The provider %s refused the request and did not say why.", name))
	case llm.CodeModelNotFound:
		if f.TooDear() {
			return fmt.Sprintf("Nobody at the provider %s serves the model %q within the highest price of the request "+
				"(provider.max_price). Under a budget that is what the budget has room for, and at most 16 times the model's "+
				"price here. Raise the budget, or have the operator give the model its price in the configuration, under "+
				"prices.", name, model)
		}
		if f.Upstream.Word != "" && f.Upstream.Message != "" { // something else may be what is not found
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

// orAddress returns the rest of that sentence. A 404 that does not speak of the model may be one of the address.
func orAddress(said, model string) string {
	switch lower := strings.ToLower(said); {
	case strings.Contains(lower, "model"), strings.Contains(said, model):
		return "."
	case said == "":
		return ", or its base_url in the configuration is wrong."
	}
	return fmt.Sprintf(", or its base_url in the configuration is wrong: it said %q.", said)
}

// tryAgain returns the sentence that tells the wait; none for 0.
func tryAgain(wait time.Duration) string {
	if wait == 0 {
		return ""
	}
	return " " + llm.TryAgain(wait)
}

// isErrorBody reports whether a whole reply of status 200 is nothing but an
// error. Some providers name one beside an answer; that is the dialect's.
func isErrorBody(body []byte) bool {
	const near = 512 // an error stands at the front; answers are not searched whole
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
		case "output", "embeddings": // an object is Bedrock's message, or Cohere's vectors by their type
			if rawjson.HasElement(m.Value) || rawjson.KindOf(m.Value) == rawjson.Object {
				return false
			}
		case "message": // a text is the error's
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

// namedStatus is the status that an error names which came with a status of
// success: as a number (OpenRouter) or as a word (OpenAI, Anthropic).
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

// retryAfter reads Retry-After (RFC 9110, section 10.2.3: seconds or a date)
// and the milliseconds that OpenAI sends beside it. What is neither counts as
// absent; the result is from 0 to an hour.
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

// decimal reads digits and a point alone; ParseFloat takes "Inf" and "0x1p9".
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
