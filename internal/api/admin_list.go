package api

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/report"
)

// query holds the parameters of the query string.
type query struct {
	values url.Values
	limit  int    // 1 to 1000
	cursor string // end of the previous page; empty for the first page
}

// listing has the parameters of every list.
var listing = []string{"limit", "cursor"}

const maxCursor = 1024 // bytes, encoded

// readQuery reads the query string: the named parameters, each once. It refuses others, because a misspelt filter
// would select everything.
func readQuery(r *http.Request, names []string) (*query, error) {
	values, err := parseQuery(r.URL)
	if err != nil {
		return nil, err
	}
	q := &query{values: values}
	for name, given := range values {
		isFilter := report.IsTagFilter(name) && slices.Contains(names, report.TagParameter)
		if !isFilter && !slices.Contains(names, name) {
			return nil, unknownName("parameter", name, name, names)
		}
		if len(given) > 1 {
			return nil, givenTwice(name)
		}
		if given[0] == "" && !isFilter && !slices.Contains(listing, name) { // such as an unset variable
			return nil, llm.Invalid(name, name+" is empty: give it a value, or leave it out.")
		}
	}
	q.limit, err = parse.QueryInt("limit", values.Get("limit"), report.DefaultLimit, 1, report.MaxLimit)
	if err != nil {
		return nil, err
	}
	q.cursor, err = openCursor(values.Get("cursor"))
	return q, err
}

// maxQuery bounds a query string in bytes, above the need of every call.
const maxQuery = 8 << 10

// parseQuery parses the query string of an address.
func parseQuery(u *url.URL) (url.Values, error) {
	if len(u.RawQuery) > maxQuery {
		return nil, llm.Invalidf("", "The query string is longer than %d bytes. Shorten it.", maxQuery)
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, llm.Invalid("", "The query string is malformed. Write a percent sign as %25.")
	}
	return values, nil
}

func givenTwice(name string) error {
	return llm.Invalid(name, name+" is given more than once. Give it once.")
}

// get returns a parameter, or "".
func (q *query) get(name string) string { return q.values.Get(name) }

// all returns all parameters.
func (q *query) all() map[string]string {
	params := map[string]string{}
	for name := range q.values {
		params[name] = q.get(name)
	}
	return params
}

// instant returns a parameter that is an RFC 3339 time, or a UTC date, which means its start; zero if there is none.
func (q *query) instant(name string) (time.Time, error) {
	value := strings.Replace(q.get(name), " ", "+", 1) // an unescaped plus sign reads as a space
	if value == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.DateOnly, value); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return time.Time{}, llm.Invalid(name, name+` must be a UTC date such as "2027-01-31" or an RFC 3339 time.`)
	}
	return t.UTC(), nil
}

// openCursor decodes a cursor of sealCursor. Only the lists themselves interpret its content.
func openCursor(cursor string) (string, error) {
	place, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(cursor) > maxCursor {
		return "", badCursor()
	}
	return string(place), nil
}

func sealCursor(place string) string { return base64.RawURLEncoding.EncodeToString([]byte(place)) }

func badCursor() error {
	return llm.Invalid("cursor",
		"The cursor does not belong to this list. Use the next_cursor of the previous page, or no cursor for the "+
			"first page.")
}

// listPage is a page of a list and the cursor of the next page, which is null at the end.
type listPage[T any] struct {
	Data       []T     `json:"data"`
	NextCursor *string `json:"next_cursor"`
}

// pageOf returns the page of a list that the query selects, ordered by the unique keys of its members.
func pageOf[T, V any](q *query, list []T, key func(*T) string, view func(*T) V) listPage[V] {
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(key(&a), key(&b)) })
	list = slices.DeleteFunc(list, func(m T) bool { return q.cursor != "" && key(&m) <= q.cursor })
	return firstPage(q, list, key, view)
}

// firstPage returns the first page of a list, with a cursor if the list has more members.
func firstPage[T, V any](q *query, list []T, place func(*T) string, view func(*T) V) listPage[V] {
	p := listPage[V]{Data: []V{}}
	for i := range list {
		if i == q.limit {
			p.NextCursor = new(sealCursor(place(&list[i-1])))
			break
		}
		p.Data = append(p.Data, view(&list[i]))
	}
	return p
}

// listed answers with a page of a list, or returns err if it is set.
func listed[T, V any](q *query, list []T, err error, key func(*T) string, view func(*T) V) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return found(pageOf(q, list, key, view))
}

// named returns names of parameters together with those of every list.
func named(names ...string) rawjson.Names { return append(names, listing...) }
