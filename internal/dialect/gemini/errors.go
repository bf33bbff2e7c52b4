package gemini

import (
	"net/http"
	"strconv"
	"time"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// words is how Google says a code: the HTTP status and the canonical one, as in
// https://google.aip.dev/193 and
// https://ai.google.dev/gemini-api/docs/troubleshooting.
type words struct {
	status    int
	canonical string
}

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

var vocabulary = map[llm.Code]words{
	llm.CodeInvalidRequest:      {http.StatusBadRequest, invalidArgument},
	llm.CodeAuthentication:      {http.StatusUnauthorized, unauthenticated},
	llm.CodeBudgetExceeded:      {http.StatusTooManyRequests, resourceExhausted},
	llm.CodeForbidden:           {http.StatusForbidden, permissionDenied},
	llm.CodeNotFound:            {http.StatusNotFound, notFound},
	llm.CodeModelNotFound:       {http.StatusNotFound, notFound},
	llm.CodeMethodNotAllowed:    {http.StatusMethodNotAllowed, "UNIMPLEMENTED"},
	llm.CodeIdempotencyConflict: {http.StatusConflict, "ABORTED"},
	llm.CodeRequestTooLarge:     {http.StatusRequestEntityTooLarge, invalidArgument},
	llm.CodeUnsupportedMedia:    {http.StatusUnsupportedMediaType, invalidArgument},
	llm.CodeRateLimited:         {http.StatusTooManyRequests, resourceExhausted},
	llm.CodeProviderError:       {http.StatusBadGateway, internalError},
	llm.CodeProviderUnavailable: {http.StatusServiceUnavailable, unavailable},
	llm.CodeProviderTimeout:     {http.StatusGatewayTimeout, deadlineExceeded},
	llm.CodeOverloaded:          {http.StatusServiceUnavailable, unavailable},
	llm.CodeInternal:            {http.StatusInternalServerError, internalError},
}

func wordsOf(c llm.Code) words {
	if w, ok := vocabulary[c]; ok {
		return w
	}
	return vocabulary[llm.CodeInternal]
}

// Status is the HTTP status of an error; 500 for a code that nobody listed.
func Status(c llm.Code) int { return wordsOf(c).status }

// typePrefix begins the types of the details of an error:
// https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto.
const typePrefix = "type.googleapis.com/google.rpc."

// EncodeError appends the body of an error reply to dst. Its details name our
// own code, which says more than Google's, the field at fault, when to try
// again, and the request.
func EncodeError(dst []byte, e *llm.Error, requestID string) []byte {
	w := wordsOf(e.Code)
	dst = rawjson.AppendCount(dst, `{"error":{"code":`, int64(w.status))
	dst = rawjson.AppendString(append(dst, `,"message":`...), e.Message)
	dst = rawjson.AppendString(append(dst, `,"status":`...), w.canonical)
	dst = append(dst, `,"details":[{"@type":"`+typePrefix+`ErrorInfo","reason":`...)
	dst = append(rawjson.AppendString(dst, string(e.Code)), `,"domain":"weir"}`...)
	if e.Param != "" {
		dst = append(dst, `,{"@type":"`+typePrefix+`BadRequest","fieldViolations":[{"field":`...)
		dst = rawjson.AppendString(dst, e.Param)
		dst = append(rawjson.AppendString(append(dst, `,"description":`...), e.Message), "}]}"...)
	}
	if e.RetryAfter > 0 {
		dst = append(dst, `,{"@type":"`+typePrefix+`RetryInfo","retryDelay":"`...)
		seconds := int64((e.RetryAfter + time.Second - 1) / time.Second)
		dst = append(strconv.AppendInt(dst, seconds, 10), `s"}`...)
	}
	if requestID != "" {
		dst = append(dst, `,{"@type":"`+typePrefix+`RequestInfo","requestId":`...)
		dst = append(rawjson.AppendString(dst, requestID), '}')
	}
	return append(dst, "]}}"...)
}
