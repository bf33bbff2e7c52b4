package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// RequestsQuery selects requests of one account. Dates are UTC calendar dates in time.DateOnly, both inclusive; empty
// for no bound. A request matches if all filters do.
type RequestsQuery struct {
	Account string // account id
	Key     string // key id; empty for every key
	Model   string // "<provider>/<model-name>" of an attempt, or the requested name; empty for every model
	Ended   Ended
	From    string
	To      string
	After   Cursor // end of the previous page; zero for the newest requests
	Limit   int    // 1 to MaxRequests

	Since, Until time.Time // of the arrival, the latter exclusive; zero for no bound
	ID           uuid.UUID // the one request with this id; zero for all
	Socket       uuid.UUID // the WebSocket of the requests; zero for all
	ReplyID      string    // the provider's id of an attempt's reply, as far as it is stored
	Requested    string    // the model as the client requested it
	User         string    // the end user
	Tags         []llm.Tag // all of them
	Status       int       // HTTP status of an attempt's reply; 0 for every status
	Code         llm.Code  // error code of an attempt
	// Costs bounds what the account is charged for a request: the sum of its attempts, without corrections.
	Costs MoneyRange
}

// Has reports whether a request matches the filters, by its last attempt where a filter is about attempts.
func (q *RequestsQuery) Has(r *Request) bool {
	return (q.Key == "" || r.Key == q.Key) && (q.Model == "" || r.Model == q.Model || r.Requested == q.Model) &&
		(q.Requested == "" || r.Requested == q.Requested) && (q.ID == uuid.Nil || r.ID == q.ID) &&
		(q.Socket == uuid.Nil || IsOfSocket(r.ID, q.Socket)) &&
		(q.ReplyID == "" || r.ReplyID == q.ReplyID) && (q.Status == 0 || r.Status == q.Status) &&
		(q.Code == "" || r.Code == q.Code) && (q.Since.IsZero() || !r.Arrived.Before(q.Since)) &&
		(q.Until.IsZero() || r.Arrived.Before(q.Until)) && q.HasAttribution(&r.Attribution) && q.Costs.Has(r.Cost) &&
		q.Ended.Has(r.Outcome, r.Unseen)
}

// IsOfSocket reports whether a request came by a WebSocket: see ledger.NewIDOf.
func IsOfSocket(request, socket uuid.UUID) bool {
	return request != socket && [8]byte(request[8:]) == [8]byte(socket[8:])
}

// HasAttribution reports whether the end user and the tags match.
func (q *RequestsQuery) HasAttribution(a *llm.Attribution) bool {
	if q.User != "" && q.User != a.User {
		return false
	}
	for i := range q.Tags {
		if value, ok := a.Tag(q.Tags[i].Name); !ok || value != q.Tags[i].Value {
			return false
		}
	}
	return true
}

// MoneyRange bounds an amount, both inclusive; nil for no bound.
type MoneyRange struct{ Least, Most *llm.Money }

// Has reports whether the range contains the amount.
func (r MoneyRange) Has(m llm.Money) bool {
	return (r.Least == nil || m >= *r.Least) && (r.Most == nil || m <= *r.Most)
}

// RequestFilters returns the names of the parameters of ParseRequests. It also reads filters by tags: see ParseTags.
func RequestFilters() []string {
	return []string{
		"id", "socket", "key", "model", "requested_model", "ended", "status", "error_code", "user", "min_cost_usd",
		"max_cost_usd", "start_date", "end_date", "from", "to",
	}
}

// ParseRequests builds the query for an account's requests from parameters. The error is a *llm.Error that names the
// wrong parameter. An id that is not a request's is taken as the provider's id of a reply.
func ParseRequests(accountID string, params map[string]string) (q RequestsQuery, err error) {
	q = RequestsQuery{
		Account: accountID, Key: params["key"], Model: params["model"], Requested: params["requested_model"],
		User: params["user"], Ended: Ended(params["ended"]), Code: llm.Code(params["error_code"]),
	}
	for _, name := range RequestFilters() {
		if !llm.IsText(params[name]) || len(params[name]) > maxFilter {
			return q, llm.Invalidf(name, "%s is not valid UTF-8, contains the character U+0000, or is longer than %d "+
				"bytes.", name, maxFilter)
		}
	}
	if !q.Ended.Known() {
		return q, llm.Invalid("ended", `ended is not "ok", "error" or "unseen". Leave it out for all requests.`)
	}
	if q.From, q.To, err = ParseDates(params["start_date"], params["end_date"]); err != nil {
		return q, err
	}
	if q.Tags, err = ParseTags(params); err != nil {
		return q, err
	}
	if err := q.parseTimes(params["from"], params["to"]); err != nil {
		return q, err
	}
	if text := params["status"]; text != "" {
		if q.Status, err = strconv.Atoi(text); err != nil || q.Status < 100 || q.Status > 599 {
			return q, llm.Invalid("status", "status is not an HTTP status. Use a number from 100 to 599.")
		}
	}
	q.parseID(params["id"])
	if err := q.parseSocket(params["socket"]); err != nil {
		return q, err
	}
	return q, q.Costs.parse(params["min_cost_usd"], params["max_cost_usd"])
}

// maxFilter bounds the value of a filter, in bytes.
const maxFilter = 512

// parseTimes reads the bounds of the arrival.
func (q *RequestsQuery) parseTimes(from, to string) (err error) {
	if q.Since, err = parseInstant("from", from); err != nil {
		return err
	}
	if q.Until, err = parseInstant("to", to); err != nil {
		return err
	}
	if !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until) {
		return llm.Invalid("from", "from must be before to.")
	}
	return nil
}

// parseInstant parses an RFC 3339 time, or a UTC date, which means its start; zero if there is none.
func parseInstant(name, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	value = strings.Replace(value, " ", "+", 1) // an unescaped plus sign reads as a space
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, value); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, llm.Invalid(name, name+` must be a UTC date such as "2027-01-31" or an RFC 3339 time.`)
}

// parseSocket reads the id of a WebSocket. It takes requests for an hour, and clocks may be corrected meanwhile.
func (q *RequestsQuery) parseSocket(text string) (err error) {
	if text == "" {
		return nil
	}
	if q.Socket, err = uuid.Parse(text); err != nil || q.Socket.Version() != 7 {
		return llm.Invalid("socket", "socket is not the id of a WebSocket. Use the X-Request-Id of its handshake.")
	}
	began := time.Unix(q.Socket.Time().UnixTime()).UTC()
	if from := began.Add(-time.Minute); from.After(q.Since) {
		q.Since = from
	}
	if to := began.Add(2 * time.Hour); q.Until.IsZero() || to.Before(q.Until) {
		q.Until = to
	}
	return nil
}

// parseID reads the id of a request, of an attempt, or of a provider's reply.
func (q *RequestsQuery) parseID(text string) {
	text = strings.TrimSpace(text)
	request, n, attempt := strings.Cut(text, ".")
	if _, err := strconv.ParseUint(n, 10, 16); attempt && err != nil {
		request = text
	}
	if id, err := uuid.Parse(request); err == nil {
		q.ID = id
		return
	}
	q.ReplyID = text
}

// parse reads amounts in US dollars.
func (r *MoneyRange) parse(least, most string) error {
	for _, bound := range []struct {
		name, text string
		to         **llm.Money
	}{{"min_cost_usd", least, &r.Least}, {"max_cost_usd", most, &r.Most}} {
		if bound.text == "" {
			continue
		}
		m, err := llm.ParseMoney(bound.text)
		if err != nil || m < 0 {
			return llm.Invalid(bound.name, bound.name+` must be an amount of US dollars such as "0.05".`)
		}
		*bound.to = &m
	}
	return nil
}
