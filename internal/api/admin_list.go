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
)

// query is what a request gives in the query string.
type query struct {
	values url.Values
	limit  int    // 1 to 1000
	cursor string // where the page before ended; empty for the first
}

// listing are the parameters that every list takes.
var listing = []string{"limit", "cursor"}

const maxCursor = 1024 // bytes, encoded

// readQuery reads the query string: the parameters of these names, each once,
// and no other, for a filter that is misspelt would select all.
func readQuery(r *http.Request, names []string) (*query, error) {
	values, err := parseQuery(r.URL)
	if err != nil {
		return nil, err
	}
	q := &query{values: values}
	for name, given := range values {
		isFilter := isTag(name) && slices.Contains(names, tagParameter)
		if !isFilter && !slices.Contains(names, name) {
			return nil, unknownName("parameter", name, name, names)
		}
		if len(given) > 1 {
			return nil, givenTwice(name)
		}
		if given[0] == "" && !isFilter && !slices.Contains(listing, name) { // as of a variable that is not set
			return nil, llm.Invalid(name, name+" is empty. Give it a value, or leave it out.")
		}
	}
	if q.limit, err = parse.QueryInt("limit", values.Get("limit"), defaultLimit, 1, maxLimit); err != nil {
		return nil, err
	}
	q.cursor, err = openCursor(values.Get("cursor"))
	return q, err
}

// maxQuery bounds a query string in bytes: all that a call takes fits in.
const maxQuery = 8 << 10

// parseQuery is the query string of an address.
func parseQuery(u *url.URL) (url.Values, error) {
	if len(u.RawQuery) > maxQuery {
		return nil, llm.Invalidf("", "The query string has more than %d bytes. Shorten it.", maxQuery)
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

// get is a parameter; empty for none.
func (q *query) get(name string) string { return q.values.Get(name) }

// instant is a parameter that is a time of RFC 3339, or a UTC date for its
// beginning; the zero time for none.
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

// openCursor is what sealCursor was given. Nobody but the lists themselves is
// to look into one.
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
		"The cursor does not belong to this list. Use the next_cursor of the page before, or none for the first page.")
}

// listPage is a part of a list, and where the next part begins: null at the end.
type listPage[T any] struct {
	Data       []T     `json:"data"`
	NextCursor *string `json:"next_cursor"`
}

// pageOf is the part of a list that the query asks for, in the order of the keys
// of its members, of which each has another.
func pageOf[T, V any](q *query, list []T, key func(*T) string, view func(*T) V) listPage[V] {
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(key(&a), key(&b)) })
	list = slices.DeleteFunc(list, func(m T) bool { return q.cursor != "" && key(&m) <= q.cursor })
	return firstPage(q, list, key, view)
}

// firstPage is the beginning of a list, which goes on behind it where there are more.
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

// listed answers with a page of a list, unless that could not be had.
func listed[T, V any](q *query, list []T, err error, key func(*T) string, view func(*T) V) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return found(pageOf(q, list, key, view))
}

// named are the names of parameters of a list, with those that every list takes.
func named(names ...string) rawjson.Names { return append(names, listing...) }
