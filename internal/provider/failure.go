package provider

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
)

// Kind is a way in which an exchange with a provider failed.
type Kind uint8

// The kinds of failure.
const (
	// KindRefused means that there was no connection: nothing was sent.
	KindRefused Kind = iota + 1
	// KindStatus is an answer with an error status, or with only an error as its body at any status.
	KindStatus
	KindConnectTimeout // Timeouts.Connect expired: nothing was sent
	KindFirstByteTimeout
	KindIdleTimeout
	KindTotalTimeout
	KindReset     // the connection broke
	KindProtocol  // the answer does not follow the provider's protocol
	KindTruncated // the answer ended before it was complete
	KindInStream  // an error that the provider reported in its stream
	// KindSubstituted is an answer by another model than the requested one, which the alias refuses.
	KindSubstituted
	KindAborted  // the provider ended the answer with a finish reason that reports a failure
	KindCanceled // cancelled by the gateway: the client left, the gateway is stopping, or memory is short
	// KindCredential means that the gateway has no credential to send: nothing was sent, and a retry at this provider
	// does not help.
	KindCredential
	// KindShortage means that this machine had no file, local port or memory for a connection: nothing was sent, and no
	// provider is at fault.
	KindShortage
)

// String returns the kind's name in logs and metrics, such as "idle_timeout".
func (k Kind) String() string {
	names := [...]string{
		"unknown", "refused", "status", "connect_timeout", "first_byte_timeout", "idle_timeout", "total_timeout",
		"reset", "protocol", "truncated", "in_stream", "substituted", "aborted", "canceled", "credential", "shortage",
	}
	if int(k) >= len(names) {
		return names[0]
	}
	return names[k]
}

// Failure describes a failed exchange with a provider. It is the only type of error that Do, ReadAll and the Body of a
// Response return.
type Failure struct {
	Kind Kind
	// Status is the provider's HTTP status, or the one in its error if that differs; 0 without an answer.
	Status int
	// RetryAfter is the wait that the provider asks for, at most an hour; 0 if it gives none.
	RetryAfter time.Duration
	// Upstream is the provider's own explanation, without the gateway's credentials.
	Upstream llm.ProviderError
	// Err is the error for the client when no target is left to try.
	Err *llm.Error
	// Late is the exchange if only its first byte was late and Call.KeepLate was set. It must be read or closed. It is
	// nil otherwise.
	Late *Late

	sent bool
	lost bool // the connection to the provider ended before its answer arrived
	ours bool // the attempt could not be made, with any provider
}

// Error returns the kind and the error for the client.
func (f *Failure) Error() string { return f.Kind.String() + ": " + f.Err.Error() }

// Unwrap returns Err, so that llm.AsError finds it.
func (f *Failure) Unwrap() error { return f.Err }

// Sent reports whether the provider may have worked on the request. It is false only if certainly no byte was sent.
func (f *Failure) Sent() bool { return f.sent }

// Refusal reports whether the provider answered with an error in place of an answer.
func (f *Failure) Refusal() bool { return f.Kind == KindStatus || f.Kind == KindInStream }

// Worked reports whether the provider refused the request only after working on it: for the content of the request or
// of the answer, for its length, or for a timeout.
func (f *Failure) Worked() bool {
	return f.Refusal() && (f.Status == http.StatusRequestTimeout || f.ByPolicy() || f.Overflow())
}

// ByPolicy reports whether the provider refused the request, or its own answer, by a content policy.
func (f *Failure) ByPolicy() bool { return explain.Code(f.Err.Word, f.Err.Message) == explain.Policy }

// Ours reports whether the attempt could not be made, with any provider.
func (f *Failure) Ours() bool { return f.ours }

// Overflow reports whether the provider refused the request because it exceeds the model's context window.
func (f *Failure) Overflow() bool {
	if !callersFault(f.Err.Code) {
		return false
	}
	text := cmp.Or(f.Upstream.Message, f.Err.Message)
	// Bedrock uses Cohere's words also for a limit on tokens a minute, which is not the caller's fault.
	return explain.Code(cmp.Or(f.Upstream.Code, f.Err.Word), text) == explain.Context ||
		strings.Contains(strings.ToLower(text), "too many tokens")
}

// setMisfit reads which part of the request exceeded a bound. Such a failure is an invalid request, even at status 413.
func (f *Failure) setMisfit() {
	if !callersFault(f.Err.Code) {
		return
	}
	code := f.Upstream.Code
	if f.Overflow() {
		code = explain.Context
	}
	if f.Err.Misfit = explain.Misfit(code, f.Upstream.Message); f.Err.Misfit.Kind != 0 {
		f.Err.Code = llm.CodeInvalidRequest
	}
}

// Reason describes the failure in a few words for operators.
func (f *Failure) Reason() string {
	if f.Status == 0 {
		return f.Kind.String() + ": " + f.Err.Message
	}
	status := fmt.Sprintf("status %d", f.Status)
	if strings.Contains(f.Err.Message, status) {
		return f.Err.Message
	}
	return strings.TrimSuffix(f.Err.Message, ".") + " (" + status + ")."
}

// Brief describes the failure without any text of the provider, so that everybody may see it.
func (f *Failure) Brief() string {
	if f.Status > 0 {
		return fmt.Sprintf("status %d", f.Status)
	}
	return f.Kind.String()
}

func callersFault(c llm.Code) bool {
	return c == llm.CodeInvalidRequest || c == llm.CodeRequestTooLarge
}

// Truncated returns the failure of an answer that ended before it was complete, such as a stream without a finish
// reason.
func Truncated() *Failure {
	return &Failure{Kind: KindTruncated, sent: true, Err: llm.Errorf(llm.CodeProviderError, "The provider's answer "+
		"ended before it was complete.")}
}

// Aborted returns the failure of an answer that its provider ended with llm.FinishError, a finish reason that reports a
// failure.
func Aborted() *Failure {
	return &Failure{Kind: KindAborted, sent: true, Err: llm.Errorf(llm.CodeProviderError, "The provider "+
		"aborted its answer: the finish reason reports a failure. Send the request again.")}
}

// SessionEnded returns the failure of a session that its provider ended before an answer was complete.
func SessionEnded() *Failure {
	return &Failure{Kind: KindAborted, sent: true, Err: llm.Errorf(llm.CodeProviderError, "The provider ended the "+
		"session before its answer was complete. Connect again.")}
}

// MalformedCall returns the failure of an answer that calls a tool with arguments other than a JSON object, for clients
// that accept only objects.
func MalformedCall(tool string) *Failure {
	return &Failure{Kind: KindAborted, sent: true, Err: llm.Errorf(llm.CodeProviderError, "The model called "+
		"the tool %.64q with arguments that are not a JSON object. Send the request again.", tool)}
}

// Substituted returns the failure of an answer by another model, which the alias refuses.
func Substituted(model string) *Failure {
	return &Failure{Kind: KindSubstituted, sent: true, Err: llm.Errorf(llm.CodeProviderError, "The provider answered "+
		"with another model than the requested one, %.64q, and the alias refuses that (served_model). Send the "+
		"request again, or request another model.", model)}
}

// GivenUp returns the failure of an answer that the gateway stops reading.
func GivenUp(why *llm.Error) *Failure { return &Failure{Kind: KindCanceled, sent: true, Err: why} }

// InStream returns the failure that a provider reported in its stream.
func InStream(err *llm.Error) *Failure {
	return &Failure{Kind: KindInStream, RetryAfter: err.RetryAfter, Err: err, sent: true}
}

// Malformed returns the failure of an answer that does not follow the provider's protocol.
func Malformed(err error) *Failure {
	return &Failure{Kind: KindProtocol, sent: true, Err: &llm.Error{
		Code:    llm.CodeProviderError,
		Message: "The provider sent an answer that does not follow its protocol.",
		Err:     err,
	}}
}

// AsFailure returns the failure behind an error of reading or decoding an answer: a Failure unchanged, an llm.Error of
// a decoder as InStream, any other error as Malformed.
func AsFailure(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return InStream(e)
	}
	return Malformed(err)
}

// Judge is AsFailure for an answer of this provider. The client sees the text of an error reported by the provider only
// if the caller can correct the mistake. It contains none of the gateway's credentials.
func (p *Provider) Judge(err error) *Failure {
	judged := *AsFailure(err)
	told := *judged.Err
	if judged.Kind == KindInStream {
		told.Err = fmt.Errorf("provider %s reported: %s", p.opts.Name, told.Message)
		if !callersFault(told.Code) {
			told.Message = fmt.Sprintf("The provider %s reported an error in place of its answer.", p.opts.Name)
			told.Param = ""
		}
	}
	p.hide(&told)
	judged.Err = &told
	return &judged
}

// failure returns a failure without an answer of the provider.
func (p *Provider) failure(k Kind, sent bool, cause error) *Failure {
	told := &llm.Error{Code: codeOf(k), Message: p.message(k), Err: cause}
	if k == KindShortage {
		told.RetryAfter = time.Second
	}
	p.hide(told)
	return &Failure{Kind: k, sent: sent, Err: told}
}

// internal returns a failure of the gateway itself, before anything was sent.
func (p *Provider) internal(err error) *Failure {
	return &Failure{Kind: KindRefused, ours: true, Err: llm.AsError(fmt.Errorf("provider %s: %w", p.opts.Name, err))}
}

func codeOf(k Kind) llm.Code {
	switch k {
	case KindConnectTimeout, KindFirstByteTimeout, KindIdleTimeout, KindTotalTimeout:
		return llm.CodeProviderTimeout
	case KindCanceled:
		return llm.CodeProviderUnavailable
	case KindShortage:
		return llm.CodeOverloaded
	}
	return llm.CodeProviderError
}

func (p *Provider) message(k Kind) string {
	name, t := p.opts.Name, &p.opts.Timeouts
	switch k {
	case KindRefused:
		return fmt.Sprintf("The provider %s could not be reached.", name)
	case KindConnectTimeout:
		return fmt.Sprintf("The provider %s accepted no connection within %s.", name, min(t.Connect, t.FirstByte))
	case KindFirstByteTimeout:
		return fmt.Sprintf("The provider %s did not begin to answer in time.", name)
	case KindIdleTimeout:
		return fmt.Sprintf("The provider %s was silent for %s in the middle of its answer.", name, t.Idle)
	case KindTotalTimeout:
		return fmt.Sprintf("The provider %s did not finish its answer within %s.", name, t.Total)
	case KindReset:
		return fmt.Sprintf("The connection to the provider %s broke.", name)
	case KindTruncated:
		return fmt.Sprintf("The answer of the provider %s ended before it was complete.", name)
	case KindCredential:
		return fmt.Sprintf("The gateway has no valid credentials for the provider %s.", name)
	case KindShortage:
		return "The gateway can open no more connections to providers now. Try again shortly."
	case KindCanceled:
		return "The request was cancelled before the provider had answered."
	}
	return fmt.Sprintf("The provider %s sent an answer that does not follow its protocol.", name)
}
