package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/signin"
)

// errorPage shows an error.
type errorPage struct {
	Title, Text string
	Request     string // request id, to find it in the log
	Home        string // label of the link back
}

// titles has the titles of errors. Other codes are internal errors.
var titles = map[llm.Code]string{
	llm.CodeInvalidRequest:  "Invalid request",
	llm.CodeForbidden:       "Not allowed",
	llm.CodeNotFound:        "Not found",
	llm.CodeRequestTooLarge: "Too large",
	llm.CodeMisdirected:     "Unknown host name",
	llm.CodeRateLimited:     "Too many requests",
	llm.CodeOverloaded:      "Temporarily unavailable",
	llm.CodeProviderError:   "The provider did not answer",
}

// refuse answers with an error page. It redirects a request without a session to the sign-in page, which leads back
// afterwards. V may be nil.
func (s *site) refuse(w http.ResponseWriter, r *http.Request, v *people.Visit, err error) {
	e := llm.AsError(err)
	if e.Code == llm.CodeAuthentication {
		guard(w.Header())
		http.Redirect(w, r, signInPath(r), http.StatusSeeOther)
		return
	}
	status, title := e.Code.Status(), titles[e.Code]
	if title == "" {
		status, title = http.StatusInternalServerError, "Something went wrong"
	}
	data := errorPage{Title: title, Text: e.Message, Home: "Back to the start page"}
	if v != nil {
		data.Request = v.Origin.Request
	}
	if status >= http.StatusInternalServerError {
		s.log.ErrorContext(r.Context(), "page failed", "path", people.HidePath(r.URL.Path), "request_id",
			data.Request, "err", err)
	}
	retryAfter(w, e.RetryAfter)
	bare := v == nil || v.User() == nil
	if failed := s.show(w, r, v, page{
		name: "error", title: title, bare: bare, status: status, data: data,
	}); failed != nil {
		s.log.ErrorContext(r.Context(), "page of an error failed", "err", errors.Join(err, failed))
		http.Error(w, e.Message, status)
	}
}

// retryAfter sets the header Retry-After in whole seconds (RFC 9110, 10.2.3), at most 59; it sets nothing for 0. The
// page shows the whole time.
func retryAfter(w http.ResponseWriter, d time.Duration) {
	if d > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(llm.RetrySeconds(d), 10))
	}
}

// signInPath returns the path of the sign-in page, which leads back to the requested page. A sent form cannot be
// repeated.
func signInPath(r *http.Request) string {
	if r.Method != http.MethodGet || r.URL.Path == "/" {
		return "/sign-in"
	}
	return "/sign-in?next=" + url.QueryEscape(signin.LocalPath(r.URL.RequestURI()))
}
