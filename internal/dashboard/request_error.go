package dashboard

import (
	"net/http"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/tool"
)

// errorText returns the code of an attempt's error and its meaning; empty for no error.
func errorText(code llm.Code, outcome ledger.Outcome, status int) string {
	meaning := ""
	switch code {
	case "":
		return ""
	case llm.CodeProviderError:
		meaning = providerErrorText(outcome, status)
	case llm.CodeProviderTimeout:
		meaning = "the provider did not begin, or did not finish, in time"
	case llm.CodeProviderUnavailable:
		meaning = "no target could be asked"
	case llm.CodeRateLimited:
		meaning = "the provider's limit was reached"
	case llm.CodeInvalidRequest:
		meaning = "the provider rejected the request"
	case llm.CodeModelNotFound:
		meaning = "the provider does not know the model"
	case tool.CodeFailed:
		meaning = "the result says that the tool failed"
	case "CLIENT_GONE":
		meaning = "the client disconnected before the end of its answer"
	default:
		return string(code)
	}
	return string(code) + ": " + meaning
}

// providerErrorText returns what a provider did, by the outcome of the attempt and the provider's status.
func providerErrorText(outcome ledger.Outcome, status int) string {
	switch {
	case outcome == ledger.OutcomeCut:
		return "the provider's answer broke off before its end"
	case outcome == ledger.OutcomeRefused:
		return "the provider could not be reached"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "the provider rejected the gateway's key"
	case outcome == ledger.OutcomeRejected:
		return "the provider answered with an error"
	}
	return "the provider reset the connection or sent an invalid answer"
}
