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

// Kind says how an exchange with a provider failed.
type Kind uint8

// The kinds of failure.
const (
	// KindRefused is no connection: nothing was sent.
	KindRefused Kind = iota + 1
	// KindStatus is an answer with an error status, or with an error for its
	// whole body whatever its status.
	KindStatus
	KindConnectTimeout // Timeouts.Connect ran out: nothing was sent
	KindFirstByteTimeout
	KindIdleTimeout
	KindTotalTimeout
	KindReset     // the connection broke
	KindProtocol  // what came is not the provider's protocol
	KindTruncated // the answer ended before it was complete
	KindInStream  // an error that the provider reported in its stream
	KindAborted   // the provider ended the answer by a finish reason that tells of a failure
	KindCanceled  // our side gave up: the client left, the gateway stops, or its memory is taken
	// KindCredential is that the gateway has no credential to show: nothing
	// was sent. To ask this provider again does not help.
	KindCredential
	// KindShortage is that this machine had no file, local port or memory for a
	// connection: nothing was sent, and no provider is at fault.
	KindShortage
)

// String is the kind in the words of logs and metrics, such as "idle_timeout".
func (k Kind) String() string {
	names := [...]string{
		"unknown", "refused", "status", "connect_timeout", "first_byte_timeout", "idle_timeout", "total_timeout",
		"reset", "protocol", "truncated", "in_stream", "aborted", "canceled", "credential", "shortage",
	}
	if int(k) >= len(names) {
		return names[0]
	}
	return names[k]
}

// Failure is how an exchange with a provider failed. It is the only type of
// error that Do, ReadAll and the Body of a Response return.
type Failure struct {
	Kind Kind
	// Status is the provider's HTTP status, or the one that its error names
	// where it came with another; 0 where there was no answer.
	Status int
	// RetryAfter is when the provider wants to be asked again, at most an
	// hour; 0 when it did not say.
	RetryAfter time.Duration
	// Upstream is the provider's own explanation, without our credentials.
	Upstream llm.ProviderError
	// Err is what a client is told when nothing is left to try.
	Err *llm.Error
	// Late is the exchange where only its first byte was late, and Call.KeepLate has it
	// go on: it is to be read, or closed. It is nil otherwise.
	Late *Late

	sent bool
	lost bool // the connection to the provider ended before its answer came
	ours bool // the attempt could not be made, whoever the provider is
}

// Error is the kind and the error that a client is told.
func (f *Failure) Error() string { return f.Kind.String() + ": " + f.Err.Error() }

// Unwrap is Err, so that llm.AsError finds it.
func (f *Failure) Unwrap() error { return f.Err }

// Sent reports whether the provider may have worked on the request. It is
// false only where certainly no byte of it went out.
func (f *Failure) Sent() bool { return f.sent }

// Refusal reports whether the provider answered with an error in place of an answer.
func (f *Failure) Refusal() bool { return f.Kind == KindStatus || f.Kind == KindInStream }

// Worked reports whether the provider refused the request only after work on it: for what
// it or its answer says, for its length, or for the time that it took.
func (f *Failure) Worked() bool {
	return f.Refusal() && (f.Status == http.StatusRequestTimeout || f.ByPolicy() || f.Overflow())
}

// ByPolicy reports whether the provider refused the request, or its own answer, by a content policy.
func (f *Failure) ByPolicy() bool { return explain.Code(f.Err.Word, f.Err.Message) == explain.Policy }

// Ours reports whether the attempt could not be made, whoever the provider is.
func (f *Failure) Ours() bool { return f.ours }

// Overflow reports whether the provider refused the request as longer than the
// model's context window.
func (f *Failure) Overflow() bool {
	if !callersFault(f.Err.Code) {
		return false
	}
	text := cmp.Or(f.Upstream.Message, f.Err.Message)
	// Cohere's words are Bedrock's for a limit on tokens a minute, too, which is no fault of the caller's.
	return explain.Code(cmp.Or(f.Upstream.Code, f.Err.Word), text) == explain.Context ||
		strings.Contains(strings.ToLower(text), "too many tokens")
}

// setMisfit reads what of the request did not fit. That is a mistake in the request, also where the status is 413.
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

// Reason is the failure in a few words fit to be shown to an operator.
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

// Brief is the failure in the gateway's own words, without anything that the
// provider said: fit to be shown to everybody.
func (f *Failure) Brief() string {
	if f.Status > 0 {
		return fmt.Sprintf("status %d", f.Status)
	}
	return f.Kind.String()
}

func callersFault(c llm.Code) bool {
	return c == llm.CodeInvalidRequest || c == llm.CodeRequestTooLarge
}

// Truncated is the failure of an answer that ended before it was complete: a
// stream without a finish reason.
func Truncated() *Failure {
	return &Failure{Kind: KindTruncated, sent: true, Err: llm.Errorf(llm.CodeProviderError, "The provider's answer "+
		"ended before it was complete.")}
}

// Aborted is the failure of an answer that its provider ended by a finish reason that tells of a
// failure: llm.FinishError.
func Aborted() *Failure {
	return &Failure{Kind: KindAborted, sent: true, Err: llm.Errorf(llm.CodeProviderError, "The provider broke its "+
		"answer off: its finish reason tells of a failure. Send the request again.")}
}

// MalformedCall is the failure of an answer that calls a tool with arguments which are no JSON object, where its client has
// no other.
func MalformedCall(tool string) *Failure {
	return &Failure{Kind: KindAborted, sent: true, Err: llm.Errorf(llm.CodeProviderError, "The model called the tool %.64q "+
		"with arguments that are no JSON object. Send the request again.", tool)}
}

// GivenUp is the failure of an answer that our side reads no further.
func GivenUp(why *llm.Error) *Failure { return &Failure{Kind: KindCanceled, sent: true, Err: why} }

// InStream is the failure that a provider reported in its stream.
func InStream(err *llm.Error) *Failure {
	return &Failure{Kind: KindInStream, RetryAfter: err.RetryAfter, Err: err, sent: true}
}

// Malformed is the failure of an answer that is not the provider's protocol.
func Malformed(err error) *Failure {
	return &Failure{Kind: KindProtocol, sent: true, Err: &llm.Error{
		Code:    llm.CodeProviderError,
		Message: "The provider sent something that is not its protocol.",
		Err:     err,
	}}
}

// AsFailure is the failure behind any error met while an answer was read and
// decoded: a Failure of the client as it is, an llm.Error of a decoder as
// InStream, anything else as Malformed.
func AsFailure(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return InStream(e)
	}
	return Malformed(err)
}

// Judge is AsFailure for an answer of this provider: of an error that it
// reported in place of its answer, only what the caller has to put right is told
// in its own words. Nothing of it has any of our credentials.
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

// failure is a failure that is no answer of the provider.
func (p *Provider) failure(k Kind, sent bool, cause error) *Failure {
	told := &llm.Error{Code: codeOf(k), Message: p.message(k), Err: cause}
	if k == KindShortage {
		told.RetryAfter = time.Second
	}
	p.hide(told)
	return &Failure{Kind: k, sent: sent, Err: told}
}

// internal is a failure of our own, before anything was sent.
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
		return fmt.Sprintf("The provider %s accepted no connection within %s.", name, t.Connect)
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
		return "The request was given up before the provider had answered."
	}
	return fmt.Sprintf("The provider %s sent something that is not its protocol.", name)
}
