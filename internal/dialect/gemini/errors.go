package gemini

import (
	"fmt"
	"net/http"
	"strconv"

	"weir/internal/dialect"
	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	invalidArgument   = "INVALID_ARGUMENT"
	notFound          = "NOT_FOUND"
	resourceExhausted = "RESOURCE_EXHAUSTED"
	internalError     = "INTERNAL"
	unavailable       = "UNAVAILABLE"
	deadlineExceeded  = "DEADLINE_EXCEEDED"
	unauthenticated   = "UNAUTHENTICATED"
	permissionDenied  = "PERMISSION_DENIED"
)

// vocabulary maps codes to Google's words: the HTTP status and the canonical one, as in https://google.aip.dev/193 and
// https://ai.google.dev/gemini-api/docs/troubleshooting. An exceeded budget is 402, which Google does not use: clients
// retry its 429, and more money has to be requested only once.
var vocabulary = dialect.Vocabulary{
	llm.CodeInvalidRequest:      dialect.Say(http.StatusBadRequest, invalidArgument, ""),
	llm.CodeAuthentication:      dialect.Say(http.StatusUnauthorized, unauthenticated, ""),
	llm.CodeBudgetExceeded:      dialect.Say(http.StatusPaymentRequired, resourceExhausted, ""),
	llm.CodeForbidden:           dialect.Say(http.StatusForbidden, permissionDenied, ""),
	llm.CodeNotFound:            dialect.Say(http.StatusNotFound, notFound, ""),
	llm.CodeModelNotFound:       dialect.Say(http.StatusNotFound, notFound, ""),
	llm.CodeMethodNotAllowed:    dialect.Say(http.StatusMethodNotAllowed, "UNIMPLEMENTED", ""),
	llm.CodeIdempotencyConflict: dialect.Say(http.StatusConflict, "ABORTED", ""),
	llm.CodeConflict:            dialect.Say(http.StatusConflict, "ABORTED", ""),
	llm.CodeRequestTooLarge:     dialect.Say(http.StatusRequestEntityTooLarge, invalidArgument, ""),
	llm.CodeUnsupportedMedia:    dialect.Say(http.StatusUnsupportedMediaType, invalidArgument, ""),
	llm.CodeRateLimited:         dialect.Say(http.StatusTooManyRequests, resourceExhausted, ""),
	llm.CodeProviderError:       dialect.Say(http.StatusBadGateway, internalError, ""),
	llm.CodeProviderUnavailable: dialect.Say(http.StatusServiceUnavailable, unavailable, ""),
	llm.CodeProviderTimeout:     dialect.Say(http.StatusGatewayTimeout, deadlineExceeded, ""),
	llm.CodeOverloaded:          dialect.Say(http.StatusServiceUnavailable, unavailable, ""),
	llm.CodeInternal:            dialect.Say(http.StatusInternalServerError, internalError, ""),
}

// sentences holds the vendor's error messages about size limits.
var sentences = explain.Sentences{
	Own: map[llm.MisfitKind][]string{
		llm.ContextOverflow:   {"input token count"},
		llm.OutputTooLong:     {"maxoutputtokens value of"},
		llm.ImageTooLarge:     {"unable to process input image"},
		llm.ThinkingSignature: {"thought signature is not valid", "missing a thought_signature"},
	},
	Write: sentence,
}

// sentence writes the vendor's error message about a size limit.
func sentence(m *llm.Misfit) string {
	switch {
	case m.Kind == llm.OutputTooLong && m.Output > 0 && m.Limit > 0:
		return fmt.Sprintf("Unable to submit request because it has a maxOutputTokens value of %d but the supported "+
			"range is from 1 "+
			"(inclusive) to %d (exclusive). Update the value and try again.", m.Output, m.Limit+1)
	case m.Kind == llm.OutputTooLong:
		return "Unable to submit request because its maxOutputTokens is larger than the model supports."
	case m.Kind == llm.ImageTooLarge:
		return "Unable to process input image."
	case m.Kind == llm.ThinkingSignature:
		return "Unable to submit request because Thought signature is not valid."
	case m.Limit > 0 && m.Input+m.Output > m.Limit:
		return fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).",
			m.Input+m.Output, m.Limit)
	case m.Limit > 0:
		return fmt.Sprintf("The input token count exceeds the maximum number of tokens allowed (%d).", m.Limit)
	}
	return "The input token count exceeds the maximum number of tokens allowed."
}

// typePrefix begins the types of the details of an error:
// https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto.
const typePrefix = "type.googleapis.com/google.rpc."

// EncodeError appends the body of an error reply to dst. Its details have Weir's own code, which is more precise than
// Google's, the field at fault, the time to retry, and the request.
func EncodeError(dst []byte, e *llm.Error, requestID string) []byte {
	w := vocabulary.Of(e.Code)
	message, _ := sentences.Message(e)
	dst = rawjson.AppendCount(dst, `{"error":{"code":`, int64(w.Status))
	dst = rawjson.AppendString(append(dst, `,"message":`...), message)
	dst = rawjson.AppendString(append(dst, `,"status":`...), w.Kind)
	dst = append(dst, `,"details":[{"@type":"`+typePrefix+`ErrorInfo","reason":`...)
	dst = append(rawjson.AppendString(dst, string(e.Code)), `,"domain":"weir"}`...)
	if e.Param != "" {
		dst = append(dst, `,{"@type":"`+typePrefix+`BadRequest","fieldViolations":[{"field":`...)
		dst = rawjson.AppendString(dst, e.Param)
		dst = append(rawjson.AppendString(append(dst, `,"description":`...), e.Message), "}]}"...)
	}
	if e.RetryAfter > 0 {
		dst = append(dst, `,{"@type":"`+typePrefix+`RetryInfo","retryDelay":"`...)
		dst = append(strconv.AppendInt(dst, e.RetrySeconds(), 10), `s"}`...)
	}
	if requestID != "" {
		dst = append(dst, `,{"@type":"`+typePrefix+`RequestInfo","requestId":`...)
		dst = append(rawjson.AppendString(dst, requestID), '}')
	}
	return append(dst, "]}}"...)
}
