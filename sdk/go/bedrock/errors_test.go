package bedrock_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"weir/internal/llm"
)

// TestSDKErrors checks the exception classes, for a request and in a stream.
func TestSDKErrors(t *testing.T) {
	t.Parallel()
	for code, want := range map[llm.Code]error{
		llm.CodeInvalidRequest:      &types.ValidationException{},
		llm.CodeForbidden:           &types.AccessDeniedException{},
		llm.CodeModelNotFound:       &types.ResourceNotFoundException{},
		llm.CodeIdempotencyConflict: &types.ConflictException{},
		llm.CodeRequestTooLarge:     &types.ValidationException{},
		llm.CodeRateLimited:         &types.ThrottlingException{},
		llm.CodeBudgetExceeded:      &types.ServiceQuotaExceededException{},
		llm.CodeProviderError:       &types.ModelErrorException{},
		llm.CodeProviderUnavailable: &types.ServiceUnavailableException{},
		llm.CodeProviderTimeout:     &types.ModelTimeoutException{},
		llm.CodeInternal:            &types.InternalServerException{},
	} {
		c := client(t, &clientAPI{err: &llm.Error{Code: code, Message: "Why.", Param: "p"}})
		_, whole := c.Converse(t.Context(), everything())
		_, streamed := accumulate(t, c)
		for _, err := range []error{whole, streamed} {
			checkException(t, code, err, want, "Why. (p)")
		}
	}
	for code, want := range map[llm.Code]error{
		llm.CodeInvalidRequest:      &types.ValidationException{},
		llm.CodeRateLimited:         &types.ThrottlingException{},
		llm.CodeProviderError:       &types.ModelStreamErrorException{},
		llm.CodeProviderUnavailable: &types.ServiceUnavailableException{},
		llm.CodeInternal:            &types.InternalServerException{},
	} {
		s := answer()
		s.err, s.late = &llm.Error{Code: code, Message: "Why."}, true
		got, err := accumulate(t, client(t, s))
		checkException(t, code, err, want, "Why.")
		if got.Text != wanted.Text || got.Stop != "" {
			t.Errorf("%s in mid-stream: %+v before it", code, got)
		}
	}
}

// apiError is the interface of all exceptions of the SDK.
type apiError interface {
	error
	ErrorCode() string
	ErrorMessage() string
}

func checkException(t *testing.T, code llm.Code, err, want error, message string) {
	t.Helper()
	var api apiError
	if !errors.As(err, &api) {
		t.Errorf("%s: the SDK raises %v, want %T", code, err, want)
		return
	}
	var named apiError
	errors.As(want, &named)
	if api.ErrorCode() != named.ErrorCode() || api.ErrorMessage() != message {
		t.Errorf("%s: the SDK raises %s, want %s: %s", code, api, named.ErrorCode(), message)
	}
	if got, wanted := typeName(api), typeName(named); got != wanted {
		t.Errorf("%s: the SDK raises a %s, want %s", code, got, wanted)
	}
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }
