package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/rawjson"
)

const (
	adminRoot = "/admin/v1"
	// maxAdminBody bounds the body of a request to the administration, in bytes.
	maxAdminBody = 1 << 20
	// adminWait bounds how long a request to the administration waits for the database, and how long it continues
	// after its client has disconnected.
	adminWait = 30 * time.Second
)

// adminRequest is a request to the administration from a caller with the right for it.
type adminRequest struct {
	*http.Request
	visit *people.Visit
	body  []byte // valid JSON if the method has a body
	query *query
}

// by returns the actor of the change, for the audit log.
func (r *adminRequest) by() audit.Actor { return r.visit.By }

// account returns the id of the account in the path, or "".
func (r *adminRequest) account() string {
	if r.visit.Account == nil {
		return ""
	}
	return r.visit.Account.ID
}

// answer is the answer of the administration: JSON, and the path of a created object.
type answer struct {
	Status   int             `json:"status"`
	Location string          `json:"location,omitempty"`
	ETag     string          `json:"etag,omitempty"` // with its quotation marks
	Body     json.RawMessage `json:"body,omitempty"` // nil for none
	media    string          // media type of a Body that is not JSON; such an answer is not stored
	replayed bool            // it is the stored answer of an earlier request
}

// adminCall executes a request.
type adminCall func(r *adminRequest) (answer, error)

// answered returns an answer with that status and the marshalled body.
func answered(status int, location string, body any) (answer, error) {
	text, err := json.Marshal(body)
	return answer{Status: status, Location: location, Body: text}, err
}

// found answers with status 200 and a body.
func found(body any) (answer, error) { return answered(http.StatusOK, "", body) }

// shown answers with a view of v, or returns err if it is set.
func shown[T, V any](v T, err error, view func(*T) V) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return found(view(&v))
}

// created answers with a created object and its path, joined from steps.
func created(body any, steps ...string) (answer, error) {
	return answered(http.StatusCreated, adminRoot+"/"+strings.Join(steps, "/"), body)
}

// gone answers with status 204 and no body.
func gone(err error) (answer, error) { return answer{Status: http.StatusNoContent}, err }

// route returns the route of a call whose answer is not stored. Queries are the allowed parameters of the query
// string.
func (ad *Admin) route(pattern string, right people.Right, call adminCall, queries ...string) people.Route {
	method, path, _ := strings.Cut(pattern, " ")
	return people.Route{Pattern: method + " " + adminRoot + path, Right: right, Serve: func(w http.ResponseWriter,
		r *http.Request, v *people.Visit,
	) {
		ctx, cancel := context.WithTimeout(r.Context(), adminWait)
		defer cancel()
		a, err := ad.call(&adminRequest{Request: r.WithContext(ctx), visit: v}, queries, call)
		if err != nil {
			ad.Refuse(w, r, v, err)
			return
		}
		a.write(w)
	}}
}

// make returns the route of a call that runs once per Idempotency-Key.
func (ad *Admin) make(pattern string, right people.Right, call adminCall) people.Route {
	return ad.route(pattern, right, func(r *adminRequest) (answer, error) { return ad.once(r, call) })
}

// call reads the request and executes it.
func (ad *Admin) call(r *adminRequest, queries []string, call adminCall) (a answer, err error) {
	if r.query, err = readQuery(r.Request, queries); err != nil {
		return a, err
	}
	if r.Method == http.MethodPost || r.Method == http.MethodPatch || r.Method == http.MethodPut {
		if r.body, err = readAdminBody(r.Request); err != nil {
			return a, err
		}
	}
	return call(r)
}

// readAdminBody reads a JSON object within the bound, and refuses other bodies. A POST or PUT without a body counts
// as an empty object.
func readAdminBody(r *http.Request) ([]byte, error) {
	if err := checkAdminMedia(r.Header.Get("Content-Type"), r.Method); err != nil {
		return nil, err
	}
	body, err := readBody(r, maxAdminBody)
	switch {
	case err != nil:
		return nil, err
	case len(body) == 0 && r.Method != http.MethodPatch:
		return []byte("{}"), nil
	}
	return body, checkObject(body, "", "Send an object.")
}

// readBody reads a body of at most that many bytes. The error is a *llm.Error.
func readBody(r *http.Request, most int) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &llm.Error{
			Code: llm.CodeInvalidRequest, Message: "The request body did not arrive in time. Send the request again.",
			Err: err,
		}
	case err != nil:
		return nil, &llm.Error{
			Code: llm.CodeInvalidRequest, Message: "The request body ended early. Send the request again.", Err: err,
		}
	case len(body) > most:
		return nil, llm.Errorf(llm.CodeRequestTooLarge, "The request body is larger than %d bytes, the limit here. "+
			"Shorten it.", most)
	}
	return body, nil
}

// checkObject refuses a body that is not a JSON object. The hints say what to do instead.
func checkObject(body []byte, malformed, other string) error {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return llm.Invalidf("", "The body is not valid JSON: %v.%s", err, malformed)
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return llm.Invalid("", "The body is not a JSON object. "+other)
	}
	return nil
}

// mergePatch is the media type of RFC 7396, which a PATCH may declare.
const mergePatch = "application/merge-patch+json"

// checkAdminMedia accepts JSON, and requests without the header.
func checkAdminMedia(value, method string) error {
	media, _, err := mime.ParseMediaType(value)
	if value == "" || err == nil && (media == "application/json" || media == mergePatch && method == http.MethodPatch) {
		return nil
	}
	return llm.Errorf(llm.CodeUnsupportedMedia, "The content type %.100q is not supported. Send application/json.",
		value)
}

// write sends the answer, and forbids caches to store it.
func (a *answer) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if a.Location != "" {
		h.Set("Location", a.Location)
	}
	if a.ETag != "" {
		h.Set("ETag", a.ETag)
	}
	if a.replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	if a.Body != nil {
		h.Set("Content-Type", cmp.Or(a.media, "application/json"))
		h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	w.WriteHeader(a.Status)
	dialect.WriteBody(w, a.Body, writeWithin)
}

// problem is an error in the format of RFC 9457. Its type only repeats the status; code has the exact error.
type problem struct {
	Type      string   `json:"type"`
	Title     string   `json:"title"`
	Status    int      `json:"status"`
	Detail    string   `json:"detail"`
	Code      llm.Code `json:"code"`
	Param     *string  `json:"param"`
	RequestID string   `json:"request_id"`
}

// Refuse answers a request to the administration with an error in the format of RFC 9457, and logs it. V may be nil.
func (ad *Admin) Refuse(w http.ResponseWriter, r *http.Request, v *people.Visit, err error) {
	e := llm.AsError(err)
	id := ""
	if v != nil {
		id = v.Origin.Request
	}
	logFailure(ad.log, id, r, e)
	status := e.Code.Status()
	body, err := json.Marshal(problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: e.Message,
		Code: e.Code, Param: orNull(e.Param), RequestID: id,
	})
	if err != nil { // cannot happen: it has only texts and a number
		ad.log.Error("an error response could not be written", "request", id, "err", err)
	}
	h := w.Header()
	dialect.ErrorHeaders(h, e)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	dialect.WriteBody(w, body, writeWithin)
}

// NotFound answers unknown paths below /admin/v1.
func (ad *Admin) NotFound() http.Handler {
	return ad.refusing(llm.Errorf(llm.CodeNotFound, "This path does not exist. GET /openapi.json lists all paths."))
}

// MethodNotAllowed answers a request with a method that its path does not have.
func (ad *Admin) MethodNotAllowed(allowed ...string) http.Handler {
	slices.Sort(allowed)
	list := strings.Join(allowed, ", ")
	refuse := ad.refusing(&llm.Error{Code: llm.CodeMethodNotAllowed, Message: "This path accepts only " + list + "."})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", list)
		refuse.ServeHTTP(w, r)
	})
}

// refusing answers every request with the same error.
func (ad *Admin) refusing(e *llm.Error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := uuid.Must(uuid.NewV7()).String()
		w.Header().Set("X-Request-Id", id)
		ad.Refuse(w, r, &people.Visit{Origin: people.Origin{Request: id}}, e)
	})
}

// orNull returns a pointer to the text, or nil if it is empty.
func orNull[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}
