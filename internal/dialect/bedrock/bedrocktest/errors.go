package bedrocktest

import (
	"net/http"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	invalid   = "ValidationException"
	stopped   = "modelStreamErrorException"
	throttled = "throttlingException"
	away      = "serviceUnavailableException"
	broken    = "internalServerException"
	refused   = "validationException"
)

// vocabulary maps codes to the service's words, in a reply and in a stream, which has only five exceptions:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html#API_runtime_Converse_Errors.
var vocabulary = dialect.Vocabulary{
	llm.CodeInvalidRequest:      dialect.Say(http.StatusBadRequest, invalid, refused),
	llm.CodeAuthentication:      dialect.Say(http.StatusForbidden, "UnrecognizedClientException", refused),
	llm.CodeBudgetExceeded:      dialect.Say(http.StatusBadRequest, "ServiceQuotaExceededException", refused),
	llm.CodeForbidden:           dialect.Say(http.StatusForbidden, "AccessDeniedException", refused),
	llm.CodeNotFound:            dialect.Say(http.StatusNotFound, "UnknownOperationException", refused),
	llm.CodeModelNotFound:       dialect.Say(http.StatusNotFound, "ResourceNotFoundException", refused),
	llm.CodeMethodNotAllowed:    dialect.Say(http.StatusMethodNotAllowed, "UnknownOperationException", refused),
	llm.CodeIdempotencyConflict: dialect.Say(http.StatusConflict, "ConflictException", refused),
	llm.CodeConflict:            dialect.Say(http.StatusConflict, "ConflictException", refused),
	llm.CodeRequestTooLarge:     dialect.Say(http.StatusRequestEntityTooLarge, invalid, refused),
	llm.CodeUnsupportedMedia:    dialect.Say(http.StatusUnsupportedMediaType, invalid, refused),
	llm.CodeRateLimited:         dialect.Say(http.StatusTooManyRequests, "ThrottlingException", throttled),
	llm.CodeProviderError:       dialect.Say(http.StatusFailedDependency, "ModelErrorException", stopped),
	llm.CodeProviderUnavailable: dialect.Say(http.StatusServiceUnavailable, "ServiceUnavailableException", away),
	llm.CodeProviderTimeout:     dialect.Say(http.StatusRequestTimeout, "ModelTimeoutException", stopped),
	llm.CodeOverloaded:          dialect.Say(http.StatusServiceUnavailable, "ServiceUnavailableException", away),
	llm.CodeInternal:            dialect.Say(http.StatusInternalServerError, "InternalServerException", broken),
}

// EncodeError appends the body of an error reply to dst. The body has the exception's name, where the AWS SDKs read it
// without an X-Amzn-Errortype header. The parameter at fault is in the message, and the request id is not in the body.
func EncodeError(dst []byte, e *llm.Error, _ string) []byte {
	message := e.Message
	if e.Param != "" {
		message += " (" + e.Param + ")"
	}
	dst = rawjson.AppendString(append(dst, `{"__type":`...), vocabulary.Of(e.Code).Kind)
	dst = rawjson.AppendString(append(dst, `,"message":`...), message)
	return append(dst, '}')
}
