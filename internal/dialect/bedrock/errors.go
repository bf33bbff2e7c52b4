package bedrock

import (
	"net/http"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// words is how the service says a code, so that the official SDKs raise their
// own exception classes:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html#API_runtime_Converse_Errors.
// In a stream there are five exceptions alone.
type words struct {
	status   int
	kind     string
	inStream string
}

const (
	invalid   = "ValidationException"
	stopped   = "modelStreamErrorException"
	throttled = "throttlingException"
	away      = "serviceUnavailableException"
	broken    = "internalServerException"
	refused   = "validationException"
)

var vocabulary = map[llm.Code]words{
	llm.CodeInvalidRequest:      {http.StatusBadRequest, invalid, refused},
	llm.CodeAuthentication:      {http.StatusForbidden, "UnrecognizedClientException", refused},
	llm.CodeBudgetExceeded:      {http.StatusBadRequest, "ServiceQuotaExceededException", refused},
	llm.CodeForbidden:           {http.StatusForbidden, "AccessDeniedException", refused},
	llm.CodeNotFound:            {http.StatusNotFound, "UnknownOperationException", refused},
	llm.CodeModelNotFound:       {http.StatusNotFound, "ResourceNotFoundException", refused},
	llm.CodeMethodNotAllowed:    {http.StatusMethodNotAllowed, "UnknownOperationException", refused},
	llm.CodeIdempotencyConflict: {http.StatusConflict, "ConflictException", refused},
	llm.CodeRequestTooLarge:     {http.StatusRequestEntityTooLarge, invalid, refused},
	llm.CodeUnsupportedMedia:    {http.StatusUnsupportedMediaType, invalid, refused},
	llm.CodeRateLimited:         {http.StatusTooManyRequests, "ThrottlingException", throttled},
	llm.CodeProviderError:       {http.StatusFailedDependency, "ModelErrorException", stopped},
	llm.CodeProviderUnavailable: {http.StatusServiceUnavailable, "ServiceUnavailableException", away},
	llm.CodeProviderTimeout:     {http.StatusRequestTimeout, "ModelTimeoutException", stopped},
	llm.CodeOverloaded:          {http.StatusServiceUnavailable, "ServiceUnavailableException", away},
	llm.CodeInternal:            {http.StatusInternalServerError, "InternalServerException", broken},
}

func wordsOf(c llm.Code) words {
	if w, ok := vocabulary[c]; ok {
		return w
	}
	return vocabulary[llm.CodeInternal]
}

// Status is the HTTP status of an error; 500 for a code that nobody listed.
func Status(c llm.Code) int { return wordsOf(c).status }

// EncodeError appends the body of an error reply to dst. The exception's name
// stands in it, where the AWS SDKs look for it when there is no
// X-Amzn-Errortype header. The parameter at fault has its place in the message
// alone, and the request id none.
func EncodeError(dst []byte, e *llm.Error, _ string) []byte {
	message := e.Message
	if e.Param != "" {
		message += " (" + e.Param + ")"
	}
	dst = rawjson.AppendString(append(dst, `{"__type":`...), wordsOf(e.Code).kind)
	dst = rawjson.AppendString(append(dst, `,"message":`...), message)
	return append(dst, '}')
}
